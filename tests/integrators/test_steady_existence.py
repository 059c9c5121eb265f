"""Steady states that do not exist, or cannot be, are errors that say so; and those that exist are found, whatever
mixture of ambients, radiation, coefficients, conductivities and sources in T there is."""

from __future__ import annotations

from itertools import product
from math import cosh, sqrt

import numpy as np
import pytest
from heatsim_kernels.explicit.enthalpy import surface_balance
from helpers.in_turn import in_turn

from heatsim.errors import HeatsimError, NoSteadyStateError, ScenarioError
from heatsim.problem import build_problem
from heatsim.scenario import loads
from heatsim.scenario.faces import convection
from heatsim.simulation.time_loop import Timings, simulate
from heatsim.solve.integrators import make_field
from heatsim.solve.state import State

DIE = """
temperature_unit = "degC"
time = {{ integrator = "steady" }}
compute = {{ precision = "float64", device = "cpu" }}
initial = {{ temperature = {start} }}
grid = {{ cells = [4, 4, 5], size = ["10 mm", "10 mm", "0.5 mm"] }}
regions = [{{ material = "si" }}]
materials.si = {{ conductivity = {k}, density = 2330.0, heat_capacity = 700.0 }}
boundary.z_max = {face}
sources = [{{ {source} }}]
"""
FILM = '{ kind = "convection", coefficient = 3000, ambient = 45.0 }'  # 0.3 W/K in all


def die(watts: str = "0", *, source: str = "", face: str = FILM, start: float = 45.0, k: str = "130.0") -> str:
    """A die with a power in T, W."""
    return DIE.format(start=start, k=k, face=face, source=source or f'power_density = "({watts})/5e-8"')


def steady(text: str) -> State:
    problem = build_problem(loads(text))
    state = State(problem, make_field(problem, "multigrid"))
    simulate(state, [], Timings())
    return state


@in_turn(
    ("text", "why"),
    [
        (die("20 + 5*exp(0.02*(T - 45))"), "more heat is released than can leave"),
        (die("0.5*(T - 45) + 1"), "more heat is released than can leave"),
        (die("2 + exp(0.02*(T - 45))", start=400.0), "from this initial temperature"),
        (die("0.5*(T - 45)"), "the smallest disturbance leaves"),
        (die("0.5*(T - 45) + 1e-3*(T - 45)**2"), "the smallest disturbance leaves"),
        (die(source="power = -1000.0"), "-3307.* degC at the coldest place, below absolute zero"),
        (
            die(source="power = -1.0", face='{ kind = "radiation", emissivity = 1.0, ambient = 45.0 }'),
            "down to absolute zero",
        ),
        (
            die(source="power = 1.0", face='{ kind = "convection", coefficient = "0*T", ambient = 20.0 }'),
            "what ties the body to its surroundings vanishes",
        ),
        (
            die(
                source="power = 300000.0",
                face='{ kind = "fixed", temperature = 45.0 }',
                k='"max(1 - 0.01*(T - 45), 1e-3)"',
            ),
            r"materials.si.conductivity is 0.001 W/\(m K\); it is followed as far as",
        ),
    ],
    ids=["exp", "linear", "start", "rest", "curved", "sink", "radiation", "film", "k"],
)
def test_a_steady_state_that_does_not_exist_is_an_error_that_says_so(text: str, why: str) -> None:
    with pytest.raises(NoSteadyStateError, match=f"^there is no steady state that can be found: .*{why}") as raised:
        steady(text)
    assert raised.value.exit_code == 3


@pytest.mark.parametrize("source", ["power = 1.0", 'power_density = "1e6*exp(0.01*T)"'])
def test_what_is_heated_and_tied_to_nothing_is_refused_before_it_is_run(source: str) -> None:
    with pytest.raises(ScenarioError, match="no face has a temperature to settle at"):
        steady(die(source=source, face='{ kind = "insulated" }'))


def test_the_stable_of_two_states_is_found() -> None:
    """2 + exp(0.02 d) = 0.3 d has two roots in d; bisection between 0 and the turning point finds the lower one."""
    low, high = 0.0, 50.0 * np.log(15.0)
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if 2.0 + np.exp(0.02 * middle) > 0.3 * middle else (low, middle)
    found = steady(die("2 + exp(0.02*(T - 45))", k="1e6"))
    assert found.temperature().mean() == pytest.approx(45.0 + low, abs=2e-3)
    assert abs(found.energy.relative_residual) < 1e-9
    assert found.warnings == []


def test_a_state_short_of_where_a_power_is_no_number_is_found() -> None:
    """50 sqrt(60 - T) = 0.3 (T - 45), a quadratic equation for the root; Newton's first step leads beyond 60."""
    roots = np.roots([0.3, 50.0, -4.5])
    found = steady(die("50*sqrt(60 - T)", k="1e7")).temperature().mean()
    assert found == pytest.approx(60.0 - float(roots.max()) ** 2, abs=1e-5)
    with pytest.raises(NoSteadyStateError, match="no finite number at the initial temperature"):
        steady(die("sqrt(60 - T)", start=70.0))


SLAB = """
time = {{ integrator = "steady" }}
compute = {{ precision = "float64", device = "cpu" }}
initial = {{ temperature = 300.0 }}
grid = {{ cells = [200, 1, 1], size = [1, 1, 1] }}
regions = [{{ material = "unit" }}]
materials.unit = {{ conductivity = 1.0, density = 1.0, heat_capacity = 1.0 }}
boundary.default = {{ kind = "insulated" }}
boundary.x_min = {{ kind = "fixed", temperature = 300.0 }}
boundary.x_max = {{ kind = "fixed", temperature = 300.0 }}
sources = [{{ power_density = "{rate}*exp(T - 300)" }}]
"""


@pytest.mark.parametrize("delta", [0.5, 0.87])
def test_a_slab_that_heats_itself_is_as_hot_as_its_solution(delta: float) -> None:
    """Frank-Kamenetskii: the middle is 2 log(cosh(b)) warmer, where b/cosh(b) = sqrt(delta/2)."""
    low, high = 0.0, 1.19967864  # tanh(b) = 1/b at the critical delta, 0.87846
    for _ in range(60):
        b = 0.5 * (low + high)
        low, high = (b, high) if b / cosh(b) < sqrt(delta / 2) else (low, b)
    middle = steady(SLAB.format(rate=4 * delta)).temperature().max() - 300.0
    assert middle == pytest.approx(2 * np.log(cosh(low)), rel=3e-3)


@pytest.mark.parametrize("delta", [0.8790, 2.0])
def test_a_slab_beyond_the_critical_heating_has_none(delta: float) -> None:
    with pytest.raises(NoSteadyStateError):
        steady(SLAB.format(rate=4 * delta))


def test_a_source_that_is_clamped_below_what_is_reached_is_told() -> None:
    (warning,) = steady(die("20 + 5*exp(0.02*(min(T, 125) - 45))")).warnings
    assert "grows with temperature up to 125" in warning
    assert "195.078 degC was reached" in warning
    assert steady(die("min(0.02*T, 9)", start=0.0)).warnings == []  # not reached
    assert steady(die("10 if T > 60 else 5")).warnings == []  # switched


# --- mixtures

BOARD = """
temperature_unit = "degC"
time = {{ integrator = "steady" }}
compute = {{ precision = "{precision}", device = "cpu" }}
initial = {{ temperature = 25.0 }}
grid = {{ cells = {cells}, size = ["100 mm", "100 mm", "3.2 mm"] }}
regions = [
  {{ material = "air" }},
  {{ material = "board", box = {{ lower = [0, 0, 0.0008], upper = [0.1, 0.1, 0.0024] }} }},
]
materials.board = {{ conductivity = {k}, density = 1900.0, heat_capacity = 1100.0 }}
ambients.air = {{ temperature = 25.0, {air} }}
sources = [{{ material = "board", {source} }}]
boundary.x_min = {face}
"""
AIR = ["coefficient = 5.0", "coefficient = 5.0, emissivity = 0.9", "emissivity = 0.9"]
AIR += ['coefficient = "1.42*(abs(T - 25)/0.1)**0.25", emissivity = 0.9']
FACES = ['{ kind = "insulated" }', '{ kind = "radiation", emissivity = 0.5, ambient = 25.0 }']
FACES += ['{ kind = "convection", coefficient = "1.3*abs(T - 25)**0.25", emissivity = 0.9, ambient = 25.0 }']
SOURCES = ["power = 5.0", "power = 1e-6", 'power_density = "3e5*exp(0.004*(T - 25))"']
MIXTURES = list(product(["20.0", '"20 + 0.01*T"'], AIR, FACES, SOURCES))


BOARDS = [1, 1, 4], [10, 10, 4], [3, 2, 8]  # cells


@pytest.mark.parametrize("turn", [0, *(pytest.param(turn, marks=pytest.mark.long) for turn in (1, 2))])
def test_every_mixture_has_its_steady_state_found(turn: int) -> None:
    """Whatever rounding leaves of the balance of an even body; each mixture on a board, every pair of face and source
    on each."""
    for number, (k, air, face, source) in enumerate(MIXTURES):
        precision = "float32" if number % 2 else "float64"
        cells = BOARDS[(number + number // 3 + turn) % len(BOARDS)]
        state = steady(BOARD.format(cells=cells, k=k, air=air, face=face, source=source, precision=precision))
        assert abs(state.energy.residual) < 1e-9 * state.energy.moved + 1e-12, (k, air, face, source)
        assert state.warnings == []


@in_turn("cells", [[10, 10, 4], [1, 1, 4], [10, 10, 6], [40, 40, 16]], ids=str)
def test_a_board_that_radiates_to_its_air_is_as_warm_as_its_balance(cells: list[int]) -> None:
    """2 (5 d + 0.9 sigma (T^4 - Ta^4)) 0.01 m2 = 5 W; cells that the board does not fill hold a part of it."""
    scale = 2 * 0.01 * 0.9 * surface_balance.STEFAN_BOLTZMANN
    roots = np.roots([scale, 0, 0, 0.1, -5.0 - 0.1 * 298.15 - scale * 298.15**4])
    expected = float(roots[(roots.imag == 0) & (roots.real > 0)].real[0]) - 273.15
    text = BOARD.format(cells=cells, k="20.0", air=AIR[1], face=FACES[0], source=SOURCES[0], precision="float64")
    middle = 250.0 * 0.0008 / (2 * 20.0)  # K, by which the middle of a board that is heated evenly is warmer
    assert steady(text).temperature().max() == pytest.approx(expected + middle, abs=2e-3)


STILL_AIR = """
temperature_unit = "{unit}"
time = {{ integrator = "steady" }}
compute = {{ precision = "float64", device = "cpu" }}
initial = {{ temperature = {air} }}
grid = {{ cells = [6, 6, 2], size = ["100 mm", "100 mm", "1.6 mm"] }}
regions = [{{ material = "board" }}]
materials.board = {{ conductivity = 1e5, density = 1900.0, heat_capacity = 1100.0 }}
boundary.default = {{ kind = "insulated" }}
boundary.z_min = {{ kind = "convection", coefficient = "{h}", emissivity = 0.9, ambient = {air} }}
boundary.z_max = {{ kind = "convection", coefficient = "{h}", emissivity = 0.9, ambient = {air} }}
sources = [{{ power = 5.0 }}]
"""


@pytest.mark.parametrize(("unit", "air"), [("degC", 25.0), ("K", 298.15)])
def test_a_coefficient_in_temperature_stands_beside_an_emissivity(unit: str, air: float) -> None:
    """The root of 0.02 (1.42 (d/0.1)^0.25 d + 0.9 sigma (T^4 - Ta^4)) = 5 is 46.7651 degC."""
    h = f"1.42*(abs(T - {air})/0.1)**0.25"
    found = steady(STILL_AIR.format(unit=unit, air=air, h=h)).temperature().mean()
    assert found - air == pytest.approx(21.7651, abs=5e-4)


def test_radiation_beside_a_coefficient_in_temperature_is_that_of_the_kernels() -> None:
    assert convection.STEFAN_BOLTZMANN == surface_balance.STEFAN_BOLTZMANN


@in_turn(
    ("change", "message"),
    [
        (("1.42", "-1.42"), "expected values >= 0"),
        (("abs(T", "x*abs(T"), "found one in x, y, z or t, too"),
        (("emissivity = 0.9", 'emissivity = "0.5 + x"'), "found emissivity that is none"),
        (("ambient = 25.0", 'ambient = "25 + t"'), "found ambient that is none"),
    ],
)
def test_what_radiation_cannot_be_added_to_is_refused(change: tuple[str, str], message: str) -> None:
    text = STILL_AIR.format(unit="degC", air=25.0, h="1.42*(abs(T - 25)/0.1)**0.25").replace(*change)
    with pytest.raises(HeatsimError, match=message):
        steady(text.replace('integrator = "steady"', "end = 1.0"))
