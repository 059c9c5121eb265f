"""What cannot depend on temperature is refused with its place, exit code 2."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from helpers.in_memory import both, case
from helpers.in_turn import in_turn
from helpers.scenario_texts import convection, fixed, flux, material

from heatsim.errors import ScenarioError
from heatsim.problem import build_problem
from heatsim.scenario import Scenario, loads
from heatsim.simulation import device_selection

TABLE = {"T": [0.0, 100.0], "value": [1.0, 3.0]}


def radiation(emissivity: float | str, ambient: float | str) -> dict[str, Any]:
    return {"kind": "radiation", "emissivity": emissivity, "ambient": ambient}


def of(conductivity: Any = TABLE, heat_capacity: Any = 1.0, **others: Any) -> str:
    made = {"wall": {"conductivity": conductivity, "density": 1.0, "heat_capacity": heat_capacity}}
    return case([4, 1, 1], 1.0, materials=made, **others)


def setting(text: str, section: str, **values: Any) -> str:
    document = tomllib.loads(text)
    document[section] |= values
    return tomli_w.dumps(document)


def refusal(text: str) -> str:
    """The one message about a scenario, its place included."""
    with pytest.raises(ScenarioError) as refused:
        build_problem(loads(text, Path("wall.toml")))
    assert refused.value.exit_code == 2
    (flaw,) = refused.value.issues
    assert flaw.line > 0
    assert flaw.file == "wall.toml"
    return f"{flaw.key}: {flaw.message}"


POSITIVE_K = "materials.wall.conductivity: expected values > 0 (W/(m K)) for T from {} degC, found "
POSITIVE_C = "materials.wall.heat_capacity: expected values > 0 (J/(kg K)) for T from {} degC, found "
COEFFICIENT = "boundary.x_min.coefficient: expected values >= 0 (W/(m2 K)) for T from {} degC, found {}"
FINITE = "boundary.x_min.{}: expected finite values, found {}"
MIXED = "boundary.x_min.{}: expected an expression in T alone times one in x, y, z, t, found what mixes them"


def cooled(coefficient: str, **others: Any) -> str:
    return of(1.0, **({"boundary": {"x_min": convection(coefficient, 20.0)}, "initial": 80.0} | others))


REFUSED = [
    (of("1 - T/50", boundary=both("x", fixed(80.0))), POSITIVE_K.format("0 to 80")),
    (of(1.0, "log(T)", initial=-5.0, boundary=both("x", fixed(3.0))), POSITIVE_C.format("-5 to 3") + "nan at T = -5"),
    (of("2/(T - 20)", initial=20.0), POSITIVE_K.format("20 to 20") + "inf at T = 20"),
    (of("10 - T", boundary={"x_min": fixed("100*t")}), POSITIVE_K.format("0 to 100")),
    (
        of(boundary={"x_min": radiation("2 + t", 0.0)}),
        "boundary.x_min.emissivity: expected at most 1 (emissivity), found 2 at t = 0 s",
    ),
    (
        of(boundary={"x_min": radiation("y - 1", 0.0)}),
        "boundary.x_min.emissivity: expected at least 0 (emissivity), found -0.5 at t = 0 s",
    ),
    (
        of(boundary={"x_min": radiation(0.5, "-600*y")}),
        "boundary.x_min.ambient: expected at least -273.15 degC (absolute zero), found -300 at t = 0 s",
    ),
    (of(boundary={"x_min": fixed("1/t")}), FINITE.format("temperature", "inf at t = 0 s")),
    (of(boundary={"x_min": radiation(0.5, "1/t")}), FINITE.format("ambient", "inf at t = 0 s")),
    (of(1.0, boundary={"x_min": radiation(0.5, "1/t")}), FINITE.format("ambient", "inf at t = 0 s")),
    (of(1.0, boundary={"x_min": radiation(0.5, "0/t")}), FINITE.format("ambient", "nan at t = 0 s")),
    (of(boundary={"x_min": convection(5.0, "1/(t - 0.5)")}), FINITE.format("ambient", "inf at t = 0.5 s")),
    (  # for a moment, between the times that are looked at first
        of(1.0, boundary={"x_min": fixed("20 - 1000*(t > 0.12345)*(t < 0.12346)")}),
        "boundary.x_min.temperature: expected at least -273.15 degC (absolute zero), found -980 at t = 0.123455 s",
    ),
    (
        of(1.0, boundary={"x_min": radiation(0.5, "20 - 1000*exp(-((t - 0.3456)/1e-5)**2)")}),
        "boundary.x_min.ambient: expected at least -273.15 degC (absolute zero), found -",
    ),
    (cooled("1 - T/50"), COEFFICIENT.format("20 to 80", "-")),
    (cooled("(T - 20)**0.25", initial=0.0), COEFFICIENT.format("0 to 20", "nan at T = 0")),
    (cooled("5/abs(T - 80)"), COEFFICIENT.format("20 to 80", "inf at T = 80")),
    (cooled("300 - T", sources=[{"power": 1e6}]), COEFFICIENT.format("20 to 3726.85", "-0.")),
    (cooled("(x - 1)*T"), "boundary.x_min.coefficient: expected at least 0 W/(m2 K), found -1 at t = 0 s"),
    (cooled("x + T"), MIXED.format("coefficient")),
    (of(boundary={"x_min": radiation("abs(x - T)", 0.0)}), MIXED.format("emissivity")),
    (
        of(boundary={"x_min": radiation("2*y*T/100", 0.0)}, initial=200.0),
        "boundary.x_min.emissivity: expected values from 0 to 1 for T from 0 to 200 degC, found 1.0",
    ),
    (setting(of(), "time", integrator="steady"), "time.integrator: no steady state, or any number of them"),
    (setting(of(step=1.0), "time", integrator="euler"), "time.step: expected at most "),
]


@in_turn(("text", "message"), REFUSED)
def test_what_has_no_meaning_is_refused_with_its_place(text: str, message: str) -> None:
    assert refusal(text).startswith(message)


def test_a_problem_that_only_radiates_has_a_steady_state() -> None:
    text = setting(of(1.0, boundary={"x_min": radiation(0.5, 0.0)}), "time", integrator="steady")
    assert build_problem(loads(text)).temperature_dependent


def test_a_patch_with_a_wrong_law_is_told_at_its_place() -> None:
    face = {"kind": "insulated", "patches": [{"where": "y > 0.2", **convection("T - 50", 20.0)}]}
    text = of(1.0, boundary={"x_min": face, "x_max": flux(0.0)}, initial=80.0)
    message = (
        "boundary.x_min.patches.0.coefficient: expected values >= 0 (W/(m2 K)) for T from 20 to 80 degC, found -30"
    )
    assert refusal(text).startswith(message)


def named(text: str, kernel: str) -> Scenario:
    return loads(setting(text, "compute", kernel=kernel))


@pytest.mark.parametrize("kernel", ["shared", "coarsened"])
def test_a_kernel_that_takes_constants_alone_is_refused_where_something_is_none(kernel: str) -> None:
    with pytest.raises(ScenarioError, match=f'"{kernel}" takes constants, and materials.wall.conductivity depends'):
        device_selection.choose_device(named(of(), kernel))


@pytest.mark.parametrize(("shared", "kernel"), [(227 * 1024, "temporal"), (1024, "register")])
def test_the_gpu_gets_a_kernel_that_takes_temperature_dependence(
    shared: int, kernel: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(device_selection, "gpu_name", lambda: "a GPU")
    monkeypatch.setattr("heatsim_kernels.device.cuda.api.shared_memory", lambda: shared)
    assert device_selection.choose_device(loads(setting(of(), "compute", device="cuda"))).kernel == kernel


def test_expressions_are_judged_only_where_temperatures_are_sure_to_occur() -> None:
    # at 0 degC the conductivity is 1; what it would be at 100 degC does not matter where nothing heats
    assert build_problem(loads(of("1 - T/50"))).temperature_dependent
    assert not build_problem(loads(case([4, 1, 1], 1.0, materials={"wall": material()}))).temperature_dependent
