from __future__ import annotations

from pathlib import Path

import pytest
from helpers.commands import Heatsim, runner


@pytest.fixture
def heatsim(tmp_path: Path) -> Heatsim:
    """Run heatsim in a process of its own, in `tmp_path`, to its end."""
    return runner(tmp_path, 600.0)
