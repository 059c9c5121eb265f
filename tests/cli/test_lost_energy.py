"""Steps too small for float32, which compute nothing, or too long for pulses of a source: the run says so."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from helpers.commands import Invoke

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
    write(COOLING)
    done = invoke("run", "case.toml", "--output", "out")
    (warning,) = warnings(tmp_path / "out")
    assert warning.startswith("0.97 of the energy moved was lost")
    assert warning.endswith('take compute.precision = "float64" or time.integrator = "implicit"')
    assert f"warning          {warning}" in done.stdout
    assert f"WARNING {warning}" in (tmp_path / "out" / "run.log").read_text()
    quiet = invoke("run", "case.toml", "--output", "out", "--force", "--quiet")
    assert (quiet.stdout, quiet.stderr) == ("", f"warning: {warning}\n")


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
    ("power", "warned"),
    [
        ("10*exp(-((t - floor(t) - 0.495)/2e-3)**2)", True),
        ("10*exp(-((t - 7.305)/2e-3)**2)", True),
        ("10 if t - floor(t) > 0.49 and t - floor(t) < 0.5 else 0", False),
        ("10 if t > 7.3 and t < 7.31 else 0", False),
        ("10*sin(t)", False),
        ("t*t", False),
        ("10 if t > 7.3 else 0", False),
    ],
)
def test_pulses_between_the_steps_are_told(
    invoke: Invoke, write: Write, tmp_path: Path, integrator: str, power: str, warned: bool
) -> None:
    write(THICK.replace('"euler"', f'"{integrator}"') + f'sources = [{{ power = "{power}" }}]\n')
    done = invoke("run", "case.toml", "--output", "out", "--quiet", "--set", "compute.precision=float64")
    assert ("for an expression in t" in done.stderr) == warned
