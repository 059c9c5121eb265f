"""Expressions in space bring what they mean to cells and faces, however narrow: integrals known in closed form.

Energies are looked at where a source enters the equations: as heating rates of cells, and as fluxes of faces.
"""

from __future__ import annotations

from math import exp, log, pi, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.in_turn import in_turn

from heatsim.errors import ScenarioError
from heatsim.problem import Problem, build_problem
from heatsim.problem.shapes.adaptive_means import cell_means
from heatsim.problem.shapes.axis_cells import Cells
from heatsim.problem.shapes.means_in_time import MeansInTime
from heatsim.problem.shapes.space_means import space_means
from heatsim.problem.terms.initial_condition import InitialField
from heatsim.scenario import Expression, loads
from heatsim.solve.integrators import make_field, start_integrator
from heatsim.solve.state import State

BODY = """
time = { end = 1.0 }
materials.m = { conductivity = 20.0, density = 8000.0, heat_capacity = 500.0 }
regions = [{ material = "m" }]
"""
CUBE = "grid = { cells = [10, 8, 6], size = [1.0, 1.0, 1.0] }\ninitial.temperature = 300.0\n" + BODY
DISC = (
    'initial.temperature = 300.0\n[grid]\ncoordinates = "cylindrical"\n'
    "x = { layers = [{ thickness = 1.0, cells = 10 }] }\nz = { layers = [{ thickness = 1.0, cells = 6 }] }\n[time]\n"
    "end = 1.0\n[materials.m]\nconductivity = 20.0\ndensity = 8000.0\nheat_capacity = 500.0\n[[regions]]\n"
    'material = "m"\n'
)


def problem(text: str, path: Path | None = None) -> Problem:
    return build_problem(loads(text, path))


def density(text: str, body: str = CUBE) -> Problem:
    return problem(f'{body}\n[[sources]]\npower_density = "{text}"\n')


def power(of: Problem, time: float = 0.0) -> float:
    """What sources with fields and windows release at a time, W."""
    sources, when = of.volume_sources, np.array([time])
    sources.field(time)
    in_windows = sum(each.power for each in (sources.window_sources(when) or ((),))[0])
    return sources.field_power() * float(sources.scale(when)[0]) + in_windows


BALL = "exp(-((x - 0.43)**2 + (y - 0.52)**2 + (z - 0.61)**2)/0.003**2)"
NARROW = {  # an expression, and its integral over the unit cube, or over the disc, by hand
    "a spot on a corner of cells": ("exp(-((x - 0.4)**2 + (y - 0.5)**2)/0.004**2)", 0.004**2 * pi),
    "a film on the face": ("exp(-x/0.002)", 0.002),
    "a film below the top": ("exp(-(1 - z)/0.002)*(1 + y)", 0.003),
    "a sheet askew": ("exp(-((x + y - 0.9)/0.01)**2)", 0.9 * 0.01 * sqrt(pi)),
    "a ball": (BALL, (0.003 * sqrt(pi)) ** 3),
    "a sharp ball": ("1 if sqrt((x-0.43)**2 + (y-0.52)**2 + (z-0.61)**2) < 0.17 else 0", 4 / 3 * pi * 0.17**3),
    "a ring": ("exp(-((sqrt((x-0.5)**2 + (y-0.5)**2) - 0.2)/0.01)**2)*exp(-z)", 0.004 * pi**1.5 * (1 - exp(-1))),
    "a box": ("5 if 0.31 < x < 0.42 and y < 0.21 and z < 0.98 else 0", 5 * 0.11 * 0.21 * 0.98),
    "a step": ("step(0.333 - x)", 0.333),
    "a power law at a face": ("1/sqrt(x)", 2.0),
    "very narrow": ("exp(-((x - 0.512345)/1e-7)**2)", 1e-7 * sqrt(pi)),
    "two spots and a floor": ("1e-4 + exp(-((x-0.3)/1e-3)**2) + 2*exp(-((y-0.7)/1e-3)**2)", 1e-4 + 3e-3 * sqrt(pi)),
    "a product that overflows": ("exp(800*x - 900*y - 800)", (1 - exp(-800)) / 800 / 900),
    "oscillating": ("sin(200*x)**2", 0.5 - np.sin(400) / 800),
}


@in_turn(("text", "integral"), NARROW.values(), ids=NARROW)
def test_a_power_density_is_released_in_full(text: str, integral: float) -> None:
    assert power(density(text)) == pytest.approx(integral, rel=2e-3 if "sqrt((x-0.43" in text else 3e-4)


def test_narrow_sources_release_their_power_in_cylindrical_coordinates() -> None:
    assert power(density("exp(-(x/0.01)**2)", DISC)) == pytest.approx(pi * 0.01**2, rel=1e-4)
    assert power(density("exp(-((x - 0.5)/0.001)**2)*(z < 0.3)", DISC)) == pytest.approx(
        0.3 * pi * 0.001 * sqrt(pi), rel=1e-4
    )


def test_a_narrow_source_that_moves_releases_its_power_at_all_times() -> None:
    for text in (
        "exp(-((x - 0.1 - 0.7*t)**2 + (y - 0.52)**2)/0.004**2)",
        "exp(-((sqrt((x - 0.3 - 0.3*t)**2 + (y - 0.5)**2) - 0.1)/0.01)**2)",
    ):
        meant = 0.004**2 * pi if "sqrt" not in text else 2 * pi * 0.1 * 0.01 * sqrt(pi)
        moving = density(text)
        assert [power(moving, t) for t in (0.0, 0.31, 0.77, 1.0)] == pytest.approx([meant] * 4, rel=1e-3)


def test_a_spot_that_is_there_only_between_looks_releases_its_power() -> None:
    brief = "exp(-((x - 0.1 - t)**2 + (y - 0.52)**2)/0.004**2)"
    for text in (f"{brief} if 0.30 < t < 0.31 else 0", f"{brief}*exp(-((t - 0.305)/0.001)**2)*(1 + 0*x*t)"):
        moving = density(text)
        assert [power(moving, t) for t in (0.25, 0.305, 0.375)] == pytest.approx(
            [0.0, 0.004**2 * pi, 0.0], rel=1e-3, abs=1e-15
        )


MOVING = (
    "exp(-((x - 0.1*t)/0.3)**2)",
    "(1 + y)*exp(-((x - 0.1*t)**2 + (y - 0.5)**2)/0.2**2)",
    "exp(-((sqrt((x - 0.1*t)**2 + (y - 0.5)**2) - 0.2)/0.05)**2)",
    "(1 + x*t)*(y < 0.6)",
)


@in_turn("text", MOVING)
def test_means_of_what_moves_do_not_depend_on_which_times_are_found_together(text: str) -> None:
    value, edges = Expression.parse(text, frozenset("xyzt")), np.linspace(0.0, 1.0, 13)
    cells, times = Cells({"z": np.array([0.0, 1.0]), "y": edges, "x": edges}), 0.37 * np.arange(24)
    together, alone = (MeansInTime(value, cells, None, 2**17, 9.0) for _ in range(2))
    together.look_ahead(times)
    for time in times.tolist():
        found = together.at(time).values()
        assert np.array_equal(found, alone.at(time).values())
        frozen = Expression.parse(text.replace("t", str(time)).replace(f"sqr{time}", "sqrt"), frozenset("xyz"))
        exact = space_means(frozen, cells, {}).values()
        assert np.abs(found - exact).sum() < 1e-3 * max(exact.sum(), 1.0)


def test_what_moves_on_a_small_grid_is_not_evaluated_in_every_step(monkeypatch: pytest.MonkeyPatch) -> None:
    body = CUBE.replace("end = 1.0", 'end = 4.0, step = 0.01, integrator = "euler"')
    face = 'boundary.x_max = { kind = "fixed", temperature = "300 + exp(-((y - 0.1*t)/0.3)**2)" }'
    of = density("exp(-((x - 0.1*t)/0.3)**2)", f"{face}\n{body}")
    calls, evaluated = [0], Expression.__call__

    def counted(self: Expression, **values: Any) -> Any:
        calls[0] += 1
        return evaluated(self, **values)

    monkeypatch.setattr(Expression, "__call__", counted)
    state = State(of, make_field(of, "cpu"))
    for _ in start_integrator(state).advance(4.0):
        pass
    assert state.step == 400
    assert calls[0] < 400


def test_a_narrow_source_in_a_material_heats_that_alone() -> None:
    materials = "materials.n = { conductivity = 1.0, density = 1.0, heat_capacity = 1.0 }"
    regions = 'regions = [{ material = "m" }, { material = "n", box = { lower = [0, 0, 0], upper = [0.5, 1, 1] } }]'
    two = CUBE.replace('regions = [{ material = "m" }]', f"{materials}\n{regions}")
    given = problem(f'{two}\n[[sources]]\nmaterial = "n"\npower_density = "exp(-((x - 0.5)/0.004)**2)"\n')
    assert power(given) == pytest.approx(0.5 * 0.004 * sqrt(pi), rel=1e-3)


SMOOTH = {  # an expression, and its primitive along x, y and z in products of one place each
    "linear": ("1e5*(1 + x - 2*y)", None),
    "separable": ("1e5*sin(3*x)*cos(y)*exp(-z)", lambda x, y, z: 1e5 * np.cos(3 * x) / 3 * np.sin(y) * np.exp(-z)),
    "askew": ("1e5*sin(x + 2*y - z)", lambda x, y, z: 1e5 * np.cos(x + 2 * y - z) / -2),
}


@in_turn("shape", [(3, 4, 5), (36, 32, 34)])
@in_turn(("text", "primitive"), SMOOTH.values(), ids=SMOOTH)
def test_smooth_expressions_have_their_means_on_coarse_and_fine_grids(text, primitive, shape) -> None:  # type: ignore[no-untyped-def]
    edges = [np.linspace(0.0, 1.0, n + 1) ** power for n, power in zip(shape, (1.0, 1.3, 1.0), strict=True)]
    z, y, x = np.meshgrid(*edges, indexing="ij")
    found = space_means(Expression.parse(text, frozenset("xyz")), Cells(dict(zip("zyx", edges, strict=True))), {})
    if primitive is None:
        z, y, x = np.meshgrid(*(0.5 * (e[1:] + e[:-1]) for e in edges), indexing="ij")
        assert found.values() == pytest.approx(1e5 * (1 + x - 2 * y), rel=1e-14, abs=1e-9)
        return
    means, sizes = primitive(x, y, z), np.ones(())
    for axis, edge in enumerate(edges):
        means, sizes = np.diff(means, axis=axis), np.multiply.outer(sizes, np.diff(edge))
    assert found.values() == pytest.approx(means / sizes, abs=100.0 if max(shape) < 9 else 5.0)


def test_a_linear_initial_temperature_keeps_its_values_and_a_narrow_one_its_heat() -> None:
    field = np.stack(list(problem(CUBE.replace("300.0", '"300 + 10*x - 3*y"')).initial.planes()))
    x, y = (np.arange(10) + 0.5) / 10, ((np.arange(8) + 0.5) / 8)[:, None]
    assert field == pytest.approx(np.broadcast_to(300 + 10 * x - 3 * y, field.shape), rel=1e-15)
    spot = np.stack(list(problem(CUBE.replace("300.0", '"300 + 500*exp(-((x - 0.4)/0.004)**2)"')).initial.planes()))
    assert spot.mean() - 300 == pytest.approx(500 * 0.004 * sqrt(pi), rel=1e-4)


def test_noise_of_an_initial_temperature_stays_at_the_centres() -> None:
    text = "300 + 43758.5*sin(12989.8*x + 78233.0*y) - floor(43758.5*sin(12989.8*x + 78233.0*y))"
    field = np.stack(list(problem(CUBE.replace("300.0", f'"{text}"')).initial.planes()))
    assert field.std() == pytest.approx(sqrt(1 / 12), rel=0.3)


@in_turn("shape", [(6, 8, 10), (1, 60, 60), (1, 150, 150)])
def test_a_crease_between_centres_of_many_cells_is_not_missed(shape: tuple[int, ...]) -> None:
    """A ridge along x y = 0.2 on a slope: the integral of its profile over s = x y has the weight -ln s."""
    cells = Cells({axis: np.linspace(0.0, 1.0, n + 1) for axis, n in zip("zyx", shape, strict=True)})
    value = Expression.parse("1 + x*y + exp(-((x*y - 0.2)/0.002)**2)", frozenset("xyz"))
    whole = float((space_means(value, cells, {}).values() * cells.volumes()).sum())
    assert whole == pytest.approx(1.25 + 0.002 * sqrt(pi) * log(5), rel=2e-4)


FLUXES = {
    "a spot": ("exp(-((x - 0.4)**2 + (y - 0.5)**2)/0.004**2)", 0.004**2 * pi),
    "a spot that goes on": ("exp(-((x - 0.3 - 0.1*t)**2 + (y - 0.5)**2)/0.004**2)", 0.004**2 * pi),
    "a spot that fades": ("exp(-((x - 0.4)**2 + (y - 0.5)**2)/0.004**2)*(2 - t)", 0.004**2 * pi),
    "a stripe": ("1 if x < 0.123 else 0", 0.123),
}


@in_turn("cells", ["[10, 8, 6]", "[10, 1, 6]", "[1, 1, 6]"])
@in_turn(("text", "integral"), FLUXES.values(), ids=FLUXES)
def test_a_flux_brings_its_heat_through_faces_of_any_size(text: str, integral: float, cells: str) -> None:
    given = problem(f'{CUBE.replace("[10, 8, 6]", cells)}\n[boundary]\nz_max = {{ kind = "flux", flux = "{text}" }}\n')
    faces = given.boundary_faces
    [patch] = [each for each in faces if each.face == 5]
    assert faces.checked(patch, "flux", np.array([1.0])).mean() == pytest.approx(integral, rel=1e-3)


def test_a_given_temperature_is_the_mean_over_each_face() -> None:
    text = '{ kind = "fixed", temperature = "400 if x < 0.123 else 300" }'
    faces = problem(f"{CUBE}\n[boundary]\nz_max = {text}\n").boundary_faces
    [patch] = [each for each in faces if each.face == 5]
    assert faces.checked(patch, "temperature", np.zeros(1))[0, :3] == pytest.approx([400, 323, 300], rel=1e-5)


def test_perfusion_and_sources_in_temperature_have_means_of_what_depends_on_space() -> None:
    for source in (
        'perfusion = { coefficient = "1e4*exp(-((x - 0.4)/0.004)**2)", temperature = 310.0 }',
        'power_density = "1e4*exp(-((x - 0.4)/0.004)**2)*(310 - T)"',
        'power_density = "1e4*exp(-((x - 0.3 - t)/0.004)**2)*(310 - T)"',
    ):
        given = problem(f"{CUBE}\n[[sources]]\n{source}\n")
        assert given.temperature_sources is not None
        released = given.temperature_sources.power(np.full(given.grid.shape, 300.0), 0.1).sum()
        assert released == pytest.approx(1e5 * 0.004 * sqrt(pi), rel=1e-4)
        at_rest = given.temperature_sources.power(np.full(given.grid.shape, 310.0), 0.1)
        assert np.abs(at_rest).max() < 1e-9


def test_what_cannot_be_resolved_is_told_with_both_numbers() -> None:
    def told(of: Problem) -> str:
        return " ".join(str(each) for each in of.warnings())

    assert "W are released, where" in told(density("1e6*sin(1e9*x)**2"))
    flux = 'z_max = { kind = "flux", flux = "sin(1e9*x)**2" }'
    assert "may be off by" in told(problem(f"{CUBE}\n[boundary]\n{flux}\n"))
    noise = CUBE.replace("initial.temperature = 300.0", 'initial.temperature = "300 + sin(1e9*x)"')
    assert "values at their centres are taken" in told(problem(noise))
    assert "mixes place and temperature" in told(density("exp(-x*T)"))
    outside = "1e8*exp(-((x - 2 - 0.2*t)/0.05)**2)"
    assert told(density(BALL)) == told(density("1e6*(1 + x)*(1 + T/300)")) == told(density(outside)) == ""


def test_power_takes_no_places_and_is_released_to_rounding_in_any_region() -> None:
    with pytest.raises(ScenarioError, match=r"found one in x, y.*power_density"):
        problem(f'{CUBE}\n[[sources]]\npower = "10*exp(-(x - 0.5)**2 - y)"\n')
    ball = "region = { sphere = { center = [0.5, 0.5, 0.5], radius = 0.3 } }"
    shapes = ("", ball, 'region = { where = "x < 0.2 or x > 0.83" }')
    for body in (CUBE, DISC):
        for shape in shapes if body is CUBE else (shapes[0], shapes[2]):
            given = problem(f'{body}\n[[sources]]\npower = "2 + t"\n{shape}\n')
            rates = given.volume_sources.table(np.array([1.0]))[0]
            held = np.stack([np.broadcast_to(given.grid.volumes(z), given.grid.shape[1:]) for z in range(6)]) * 4e6
            cells = rates[0] if given.zones.ids is None else rates[given.zones.ids]
            assert float((cells * held).sum()) == pytest.approx(3.0, rel=1e-12)


BOUNDED = (
    "x*y - (x - 1)**3/(2 + z)",
    "min(x, y, 0.3) + max(z, 0.1)*abs(x - 0.4)",
    "where(x < y and not z > 0.5, 2, -1)",
    "sin(7*x) + cos(9*y)*tan(z)",
    "tanh(x - y) + erf(z) + floor(3*x) + step(y - 0.5)",
    "x**y + sqrt(z)*log(1 + x)",
    "(x - y)**2/(x + 0.1)**-2",
    "1 if x == y or z != 0.25 else x*x",
)


@in_turn("text", BOUNDED)
def test_bounds_enclose_all_values(text: str) -> None:
    value = Expression.parse(text, frozenset("xyz"))
    random = np.random.default_rng(5)
    low = random.random((3, 200))
    high = low + 0.3 * random.random((3, 200)) * (random.random((3, 200)) < 0.8)
    least, most = value.enclose(**{axis: (a, b) for axis, a, b in zip("xyz", low, high, strict=True)})
    for _ in range(50):
        x, y, z = low + (high - low) * random.random((3, 200))
        found = value(x=x, y=y, z=z)
        assert (found >= least - 1e-12).all()
        assert (found <= most + 1e-12).all()


def test_factors_multiply_to_the_expression_and_have_no_coordinate_in_common() -> None:
    for text in (
        "2*exp(-((x - 1)**2 + (y - 2)**2)/3 - z)*(1 + x)", "(x + y)*(x - y) + 1", "where(x < 0.5 and y < 0.2, z, 3)",
        "-(x*y)**2/(2*z + 1)", "sqrt(x + y)*z",
    ):  # fmt: skip
        value = Expression.parse(text, frozenset("xyz"))
        x, y, z = np.random.default_rng(1).random((3, 100))
        products = value.split_space()
        sums = sum(np.prod([np.broadcast_to(f(x=x, y=y, z=z), 100) for f in product], axis=0) for product in products)
        assert sums == pytest.approx(value(x=x, y=y, z=z))
        for product in products:
            names = [name for factor in product for name in factor.names]
            assert len(names) == len(set(names))


def test_points_without_a_value_are_left_out_where_the_centre_has_one() -> None:
    cells = Cells({"x": np.linspace(0.0, 1.0, 11)})
    mean = cell_means(Expression.parse("sqrt(x - 0.02)/log(1 + x)", frozenset("x")), cells, {})
    assert np.isfinite(mean.values).all()
    whole = space_means(Expression.parse("1/(1 + x)", frozenset("x")), cells, {}).values().mean()
    assert whole == pytest.approx(log(2), rel=1e-6)


def test_threads_that_share_an_initial_field_give_the_bits_of_one_in_two_passes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One pass for its range, one into the field: each took a second at 512 cells an axis, and there were four."""
    text = CUBE.replace("[10, 8, 6]", "[24, 24, 24]").replace(
        "initial.temperature = 300.0",
        'initial.temperature = "300 + 9*exp(-3*(x*x + y)) - sqrt(x*x + y*y + z*z) + 2*(x*y*z > 0.01)"',
    )
    text = text.replace(
        'regions = [{ material = "m" }]',
        'regions = [{ material = "m" }, { material = "m", initial = "300 + x*y",'
        " box = { lower = [0, 0, 0], upper = [0.6, 0.6, 0.6] } }]",
    )
    passes: list[object] = []
    inner = InitialField.of_planes
    monkeypatch.setattr(InitialField, "of_planes", lambda *given: (passes.append(given), inner(*given))[1])
    found = []
    for threads in (1, 3):
        monkeypatch.setattr("heatsim.base.threads.MANY", 1)
        monkeypatch.setattr("heatsim.base.threads.thread_count", lambda count=threads: count)
        body = problem(text)
        body.warnings()
        state = State(body, make_field(body, "cpu"))
        found.append((state.temperature().tobytes(), body.initial.range(), state.extent_at_start))
        assert len(passes) == 2
        passes.clear()
    assert found[0] == found[1]
