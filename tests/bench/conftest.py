from __future__ import annotations

import json
from pathlib import Path

import pytest
from bench_cases import TINY, Invoke, Measured, call

OTHER = "heatsim bench stencil: another device -->"
PAGE = f"# Before\n\n<!-- {OTHER}\nkept\n<!-- end of {OTHER}\n"


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Invoke:
    """Run `heatsim bench stencil` in this process, in `tmp_path`."""
    monkeypatch.chdir(tmp_path)
    return call


@pytest.fixture(scope="session")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Measured:
    """A benchmark of a tiny grid, written twice into a page that holds another device's section."""
    folder = tmp_path_factory.mktemp("bench")
    page, figure, file = folder / "page.md", folder / "roofline.png", folder / "found.json"
    page.write_text(PAGE)
    for _ in range(2):
        result = call(*TINY, "--json", file, "--figure", figure, "--write", page)
    return Measured(result, json.loads(file.read_text()), page, figure)
