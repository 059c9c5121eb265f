"""Steps too small for float32, which compute nothing, or too long for pulses of a source: the run says so."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from helpers.commands import Invoke

from heatsim.errors import EnergyLostError
from heatsim.problem import build_problem
from heatsim.scenario import loads
from heatsim.solve.ledger import EnergyBalance, energy_warnings, require_energy

Write = Callable[..., Path]

# Thin copper in still air: a step changes it by a third of the last place of a float32.
COOLING = """\
grid = { cells = [10, 1, 1], size = [1e-3, 1e-2, 1e-2] }
time = { end = 0.05, integrator = "euler" }
compute = { device = "cpu" }
materials.copper = { conductivity = 400.0, density = 8900.0, heat_capacity = 382.0 }
regions = [{ material = "copper" }]
initial = { temperature = 400.0 }
boundary.x_max = { kind = "convection", coefficient = 1.0, ambient = 300.0 }
"""


def warnings(folder: Path) -> list[str]:
    return list(json.loads((folder / "run.json").read_text())["warnings"])


def test_energy_lost_to_rounding_is_told_with_what_to_do(invoke: Invoke, write: Write, tmp_path: Path) -> None:
    write(COOLING.replace("coefficient = 1.0", "coefficient = 2.5"))
    done = invoke("run", "case.toml", "--output", "out")
    (warning,) = warnings(tmp_path / "out")
    assert warning.startswith("0.38 of the energy moved was lost")
    assert warning.endswith('take compute.precision = "float64" or time.integrator = "implicit"')
    assert f"warning          {warning}" in done.stdout
    assert f"WARNING {warning}" in (tmp_path / "out" / "run.log").read_text()
    quiet = invoke("run", "case.toml", "--output", "out", "--force", "--quiet")
    assert (quiet.stdout, quiet.stderr) == ("", f"warning: {warning}\n")


def test_a_run_that_lost_most_of_its_energy_has_failed(invoke: Invoke, write: Write, tmp_path: Path) -> None:
    write(COOLING)
    done = invoke("run", "case.toml", "--output", "out", "--quiet")
    assert done.exit_code == 3
    assert "error: the energy balance does not close: 0.0005197 J of 0.0005341 J moved came from nowhere" in done.stderr
    assert 'take compute.precision = "float64" or time.integrator = "implicit"' in done.stderr
    told = json.loads((tmp_path / "out" / "run.json").read_text())
    assert (told["state"], told["time"]) == ("failed", 0.05)


def test_the_ledger_is_judged_in_every_mode() -> None:
    """By what moved, and by what the precision explains; in a steady state by what cells exchange."""
    for overrides, time, unit in (
        (["compute.precision=float64"], 0.05, "J"),
        (["time.integrator=implicit"], 0.05, "J"),
        (["time.integrator=rkl2", "compute.precision=float64"], 0.05, "J"),
        (["time.integrator=steady"], np.inf, "W"),
    ):
        problem = build_problem(loads(COOLING, None, overrides))

        def field() -> np.ndarray:
            return np.full((1, 1, 10), 50.0)

        def balance(missing: float, moved: float = 1e3) -> EnergyBalance:
            return EnergyBalance(missing, 0.0, {}, {}, moved)

        assert not list(energy_warnings(problem, balance(1e-4), time, field))
        assert len(list(energy_warnings(problem, balance(1e-2), time, field))) == 1
        assert len(list(energy_warnings(problem, balance(-400.0), time, field))) == 1
        assert not list(energy_warnings(problem, balance(1e-14, 1e-14), time, field))  # nothing moved
        require_energy(problem, balance(400.0), time, field)
        require_energy(problem, balance(1e-14, 1e-14), time, field)
        for missing, word in ((900.0, "came from nowhere"), (-1000.0, "were lost")):
            with pytest.raises(EnergyLostError, match=f"{missing:g} {unit} of 1000 {unit} moved {word}"):
                require_energy(problem, balance(missing), time, field)


@pytest.mark.parametrize(
    "change",
    [
        "compute.precision=float64",
        "time.integrator=implicit",
        "boundary.x_max.coefficient=1000",
        "boundary.x_max.ambient=400",
        "time.end=5e-4",
    ],
)
def test_runs_that_float32_holds_are_not_warned_of(invoke: Invoke, write: Write, tmp_path: Path, change: str) -> None:
    """The last two move nothing, or less than the last place of a float32 of each cell."""
    write(COOLING)
    assert invoke("run", "case.toml", "--output", "out", "--set", change, "--quiet").stderr == ""
    assert warnings(tmp_path / "out") == []


THICK = COOLING.replace("end = 0.05", "end = 20.0").replace("size = [1e-3", "size = [1.0")


@pytest.mark.parametrize("integrator", ["rkl2", "implicit"])
@pytest.mark.parametrize(
    ("power", "energy"),
    [
        ("10*exp(-((t - floor(t) - 0.495)/2e-3)**2)", 0.70898),  # 20 pulses of 10 W times 2 ms times the root of pi
        ("10*exp(-((t - 7.305)/2e-3)**2)", 0.035449),
        ("10 if t - floor(t) > 0.49 and t - floor(t) < 0.5 else 0", 2.0),
        ("10 if t > 7.3 and t < 7.31 else 0", 0.1),
        ("1e6 if t > 7.31001 and t < 7.31002 else 0", 10.0),
        ("t*t", 8000 / 3),
        ("10 if t > 7.3 else 0", 127.0),
    ],
)
def test_pulses_shorter_than_a_step_are_seen_or_told(
    invoke: Invoke, write: Write, tmp_path: Path, integrator: str, power: str, energy: float
) -> None:
    write(THICK.replace('"euler"', f'"{integrator}"') + f'sources = [{{ power = "{power}" }}]\n')
    done = invoke("run", "case.toml", "--output", "out", "--quiet", "--set", "compute.precision=float64")
    seen = json.loads((tmp_path / "out" / "run.json").read_text())["energy"]["sources"]
    assert seen == pytest.approx(energy, rel=0.02)
    assert ("for an expression in t" in done.stderr) == (seen != pytest.approx(energy, rel=0.01))


def test_a_body_that_is_cooled_below_absolute_zero_is_told(invoke: Invoke, write: Write, tmp_path: Path) -> None:
    """It has 0.34 J/K, and 280 J are taken."""
    write(COOLING.replace("end = 0.05", "end = 20.0") + "sources = [{ power = -14.0 }]\n")
    invoke(
        "run", "case.toml", "--output", "out", "--set", "compute.precision=float64", "--set", "time.integrator=implicit"
    )
    (warning,) = warnings(tmp_path / "out")
    assert "K at the end is below absolute zero" in warning
