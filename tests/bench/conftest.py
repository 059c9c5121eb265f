from __future__ import annotations

import json
from pathlib import Path

import pytest
from bench_cases import TINY, Invoke, Measured, call


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Invoke:
    """Run `heatsim bench stencil` in this process, in `tmp_path`."""
    monkeypatch.chdir(tmp_path)
    return call


@pytest.fixture(scope="session")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Measured:
    """A benchmark of a tiny grid."""
    folder = tmp_path_factory.mktemp("bench")
    figure, file = folder / "roofline.png", folder / "found.json"
    result = call(*TINY, "--json", file, "--figure", figure)
    return Measured(result, json.loads(file.read_text()), figure)
