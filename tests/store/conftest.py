from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from heatsim.base.quantity import Quantity
from heatsim.store.folder import RunFolder
from heatsim.store.snapshots import CellGrid, Snapshot


def random_snapshot(shape: tuple[int, int, int], number: int, dtype: str = "float32") -> Snapshot:
    """A snapshot whose values are known from its number."""
    values = np.random.default_rng(number).uniform(250, 400, shape).astype(dtype)
    grid = CellGrid(shape, (-0.1, 0.2, 0.3), (0.01, 0.02, 0.05))
    return Snapshot(grid, 0.25 * number, 10 * number, values, Quantity(unit="degC"), "A test")


@pytest.fixture
def snapshot_of() -> Callable[..., Snapshot]:
    return random_snapshot


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return RunFolder.create(tmp_path / "run")
