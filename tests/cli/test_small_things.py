"""Small things that trying showed."""

from __future__ import annotations

from pathlib import Path

from helpers.commands import Invoke
from helpers.in_turn import in_turn
from helpers.scenario_texts import MINIMAL

import heatsim
from heatsim.problem import build_problem
from heatsim.scenario import loads
from heatsim.scenario.language.toml.messages import did_you_mean


@in_turn(
    ("symbol", "key"),
    [("k", "conductivity"), ("rho", "density"), ("cp", "heat_capacity"), ("h", "coefficient"), ("r_min", "x_min")],
)
def test_symbols_lead_to_keys(symbol: str, key: str) -> None:
    known = ["conductivity", "density", "heat_capacity", "coefficient", "x_min", "x_max"]
    assert did_you_mean(symbol, known) == f'did you mean "{key}"?'


def test_the_scenario_of_a_run_is_run_again_beside_it(invoke: Invoke, tmp_path: Path) -> None:
    (tmp_path / "case.toml").write_text(MINIMAL)
    assert invoke("run", "case.toml").exit_code == 0
    for _ in range(2):
        assert invoke("run", "outputs/case/scenario.toml").exit_code == 0
    assert sorted(path.name for path in (tmp_path / "outputs").iterdir()) == ["case", "case-2", "case-3"]


def test_a_run_is_shown_in_one_short_line(tmp_path: Path) -> None:
    done = heatsim.run(loads(MINIMAL), tmp_path / "run")
    assert repr(done) == f"Run('{tmp_path}/run', finished at t = 10 s)"


@in_turn(("x", "warned"), [(0.08, True), (0.05, False), (0.02, False)])
def test_a_probe_inside_an_ambient_is_warned_of(x: float, warned: bool) -> None:
    air = "[ambients.air]\ntemperature = 290.0\ncoefficient = 5.0\n[[regions]]\nmaterial = 'air'\nwhere = 'x > 0.05'\n"
    probe = f"[output]\nprobes = [{{ name = 'a', at = [{x}, 0.05, 0.05], count = 1 }}]\n"
    said = [str(issue) for issue in build_problem(loads(MINIMAL + air + probe)).warnings()]
    assert any("an ambient, whose temperature is given" in each for each in said) == warned
