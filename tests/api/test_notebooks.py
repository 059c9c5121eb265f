"""What notebooks show: short tables, pictures, and progress in place."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import heatsim
from heatsim.simulation import progress
from heatsim.studies.impedance.responses import ThermalImpedance
from heatsim.studies.sweeps.gradients import Gradient

QUICK_START = Path(__file__).parents[2] / "scenarios" / "quick_start.toml"


def test_what_is_shown_is_short_and_has_a_table(tmp_path: Path) -> None:
    coarse = {"grid.cells": [50, 30, 1], "time.end": 1.0, "output.slices": []}
    coarse |= {"output.results": [{"name": "hottest", "of": "max(T)"}]}
    run = heatsim.run(QUICK_START, tmp_path / "run", overrides=coarse)
    conducting = heatsim.effective(np.zeros((2, 2, 2), int), {0: 3.0}, "x")
    impedance = ThermalImpedance(np.array([1.0, 2.0]), ("a",) * 30, ("b",), np.ones((30, 1, 2)))
    gradient = Gradient(3.0, {"h": 1.0}, np.zeros((3, 4, 5)), np.zeros((3, 4, 5)))
    told = {
        "A hot spot in an aluminium plate": heatsim.load(QUICK_START),
        "finished at t = 1 s": run,
        "3 W/(m K)": conducting,
        "1 K/W": impedance,
        "by h": gradient,
    }
    assert run.facts()[1]["hottest"].endswith(f" {run.info['result_units']['hottest']}")
    for words, each in told.items():
        text, page = repr(each), each._repr_html_()
        assert words in text
        assert words in page.replace("&#x27;", "'")
        assert text.count("\n") < 10
        assert "<table>" in page
        assert ("data:image/png;base64," in page) is (each in (run, impedance))
        assert max(map(len, text.replace(str(tmp_path), "").split("\n"))) <= 100


def test_progress_is_drawn_in_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    coarse = {"grid.cells": [50, 30, 1], "time.end": 1.0, "output.slices": []}
    run = heatsim.run(QUICK_START, tmp_path / "run", overrides=coarse, progress=True)
    told = capsys.readouterr().err
    last = heatsim.open(run).temperature[-1]
    assert f"{float(last.min()):.5g} to {float(last.max()):.5g}" in told.rpartition("\r")[2]
    assert told.startswith("\r")
    assert told.count("\n") == 1
    assert "t = 1 s of 1 s" in told.rpartition("\r")[2]


def test_a_notebook_has_one_place_that_is_drawn_over(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    handle = SimpleNamespace(update=seen.append)
    shell = SimpleNamespace(get_ipython=lambda: SimpleNamespace(kernel=1))
    displays = SimpleNamespace(display=lambda words, display_id: handle)
    for name, module in (("IPython", 1), ("IPython.core.getipython", shell), ("IPython.display", displays)):
        monkeypatch.setitem(__import__("sys").modules, name, module)  # type: ignore[arg-type]
    place = progress._notebook()
    assert place is not None
    with_bar = progress.ProgressInPlace(heatsim.load(QUICK_START), place)
    look = SimpleNamespace(lowest=1.0, highest=2.0, probe=1.5)
    for step in range(3):
        with_bar(SimpleNamespace(time=30.0, end=60.0, steps=step, cells=10, sweeps=step, phase="", look=lambda: look))  # type: ignore[arg-type]
    with_bar.close()
    assert len(seen) == 2  # the first, and at the end
    assert '<progress value="0.5000" max="1">' in seen[-1]._repr_html_()
