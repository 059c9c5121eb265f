"""Smoothing passes: what they keep, how wide they make a point, and that runs have them."""

from __future__ import annotations

import tomllib
from math import sqrt

import numpy as np
import pytest
import tomli_w
from heatsim_kernels.field.window_source import window_heating_rate
from helpers.in_memory import case
from helpers.in_turn import in_turn
from helpers.scenario_texts import box, material

from heatsim.errors import NoGpuError, ScenarioError
from heatsim.problem import build_problem
from heatsim.problem.terms.smoothing import FILTERS, smooth_field
from heatsim.scenario import Scenario, loads
from heatsim.solve.integrators import make_field
from heatsim.solve.state import State

CELLS, SIZE = (40, 31, 27), (0.4, 0.31, 0.54)  # 10 x 10 x 20 mm
SPACING = (0.02, 0.01, 0.01)  # along z, y, x
NOISE = np.random.default_rng(4).normal(300.0, 20.0, (27, 31, 40))


def with_passes(*passes: dict[str, object], **changes: object) -> Scenario:
    """A box of 40 x 31 x 27 cells, twice as tall as wide, with smoothing passes."""
    document = tomllib.loads(case(CELLS, 1.0, size=SIZE, **changes))  # type: ignore[arg-type]
    return loads(tomli_w.dumps({**document, "smoothing": list(passes)}))


def gaussian(sigma: float = 0.02, **keys: object) -> dict[str, object]:
    return {"target": "initial", "filter": "gaussian", "sigma": sigma, "edges": "reflect", **keys}


def spread(field: np.ndarray, axis: int) -> float:
    """Standard deviation of what a point has become, in cells along an axis."""
    along = field.sum(axis=tuple(other for other in range(field.ndim) if other != axis))
    at = np.arange(along.size) - along.size // 2
    return float(np.sqrt((along * at**2).sum() / along.sum()))


@in_turn("name", FILTERS)
@in_turn("sigma", [0.004, 0.011, 0.02, 0.03])
def test_a_point_gets_the_width_asked_for_along_every_axis(name: str, sigma: float) -> None:
    """Also where cells are twice as tall as wide; a hundredth is asked for, and only a Gaussian's tails need it."""
    point = np.zeros((81, 81, 81))
    point[40, 40, 40] = 1.0
    scenario = with_passes(gaussian(sigma, filter=name))
    spots = smooth_field(scenario, "initial", point, SPACING)
    for axis, size in enumerate(SPACING):
        assert spread(spots, axis) * size == pytest.approx(sigma, rel=0.01 if name == "gaussian" else 1e-9)


@pytest.mark.parametrize("name", ["gaussian", "binomial"])
def test_a_wide_filter_is_several_passes_whose_variances_add(name: str) -> None:
    chain = FILTERS[name](17.0)
    assert len(chain) > 1
    line = np.zeros(301)
    line[150] = 1.0
    for mask in chain:
        line = np.convolve(line, mask, mode="same")
    assert spread(line, 0) == pytest.approx(17.0, rel=0.01)
    ideal = np.exp(-0.5 * ((np.arange(301) - 150) / 17.0) ** 2)
    assert np.abs(line / line.max() - ideal).max() < 0.01


def test_a_binomial_is_a_row_of_the_triangle_of_pascal_where_there_is_one() -> None:
    (mask,) = FILTERS["binomial"](sqrt(1.5))
    np.testing.assert_allclose(mask, np.array([1, 6, 15, 20, 15, 6, 1]) / 64, atol=1e-15)
    (mask,) = FILTERS["box"](sqrt(2.0))
    np.testing.assert_allclose(mask, np.full(5, 0.2), atol=1e-15)


PASSES = [
    gaussian(0.02),
    gaussian(0.031, filter="box"),
    gaussian(0.027, filter="binomial"),
    {"target": "initial", "mask": [[1, 2, 0], [0, 5, 1], [3, 0, 1]], "edges": "reflect"},
]


@in_turn("edges", ["reflect", "wrap"])
@in_turn("dtype", [np.float32, np.float64])
@in_turn("one", PASSES, ids=["gaussian", "box", "binomial", "mask"])
def test_reflected_and_periodic_edges_keep_the_mean(one: dict[str, object], dtype: type, edges: str) -> None:
    """All but a mask that is not its own mirror image, which only periodic edges keep."""
    field: np.ndarray = NOISE.astype(dtype)
    after = smooth_field(with_passes({**one, "edges": edges}), "initial", field, SPACING)
    assert after.dtype == dtype
    assert after.std() < 0.7 * field.std()
    if "mask" not in one or edges == "wrap":
        assert after.mean(dtype=float) == pytest.approx(field.mean(dtype=float), rel=4 * float(np.finfo(dtype).eps))


def test_a_point_becomes_the_mask_itself_row_by_row_upwards() -> None:
    weights = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]]
    field = np.zeros((1, 7, 9), np.float64)
    field[0, 3, 4] = 45.0
    after = smooth_field(with_passes({"target": "initial", "mask": weights}), "initial", field, SPACING)
    np.testing.assert_allclose(after[0, 2:5, 3:6], weights)
    assert after.sum() == pytest.approx(45.0)


def test_passes_come_in_their_order_and_axes_of_one_cell_are_left_alone() -> None:
    first, second = gaussian(0.02, edges="zero"), gaussian(0.015, filter="box", edges="nearest")
    plane = NOISE[:1]
    alone = [smooth_field(with_passes(one), "initial", plane, SPACING) for one in (first, second)]
    both = smooth_field(with_passes(first, second), "initial", plane, SPACING)
    np.testing.assert_array_equal(both, smooth_field(with_passes(second), "initial", alone[0], SPACING))
    assert not np.array_equal(both, smooth_field(with_passes(first), "initial", alone[1], SPACING))
    flat = np.full((1, 31, 40), 7.0)
    np.testing.assert_allclose(smooth_field(with_passes(gaussian()), "initial", flat, SPACING), flat, rtol=1e-14)


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_a_run_starts_from_the_smoothed_field(precision: str) -> None:
    raw = "20 + 30*sin(70*x)*sin(90*y)*cos(40*z) + 100*step(0.1 - x)"
    problem = build_problem(with_passes(gaussian(0.03), initial=raw, precision=precision))
    before = np.stack(list(build_problem(with_passes(initial=raw)).initial.planes()))
    after = np.stack(list(problem.initial.planes()))
    expected = smooth_field(with_passes(gaussian(0.03)), "initial", before, SPACING)
    np.testing.assert_allclose(after, expected, atol=1e-4 if precision == "float32" else 1e-10)
    assert after.mean() == pytest.approx(before.mean(), rel=1e-6)
    assert problem.reference == pytest.approx(0.5 * (expected.min() + expected.max()))
    state = State(problem, make_field(problem, "cpu"))
    np.testing.assert_allclose(state.temperature(), expected, atol=1e-4 if precision == "float32" else 1e-10)


HEATERS: list[dict[str, object]] = [
    {"power": 7.0, "region": box((0.0, 0.0, 0.0), (0.1, 0.1, 0.2))},
    {"power": "3*(1 + t)", "region": box((0.2, 0.1, 0.3), (0.3, 0.2, 0.54))},
    {"power_density": "20*x*y"},
    {"power_density": "1000*exp(-((x - 0.2 - 10*t)**2 + (y - 0.15)**2 + (z - 0.25)**2)/0.002)"},
]
TWO: dict[str, object] = {
    "materials": {"a": material(1.0, 2.0, 3.0), "b": material(0.3, 1.0, 0.5)},
    "regions": [{"material": "b", **box((0.15, 0.0, 0.0), (0.4, 0.31, 0.54))}],
}


def heaters(scenario: Scenario, time: float) -> tuple[float, np.ndarray]:
    """Power of all sources at a time, W, and the power density (nz, ny, nx), W/m3."""
    problem = build_problem(scenario)
    forcing = problem.forcing(np.array([time]))
    rate = np.zeros(problem.grid.shape)
    if forcing.heat_table is not None:
        rate += problem.coefficients.spread_over_cells(forcing.heat_table[0])
    if forcing.heat_field is not None:
        rate += forcing.heat_field * forcing.heat_scale[0]
    for windows in forcing.window_sources:
        rate += window_heating_rate(windows, problem.grid.shape)
    density = rate * problem.coefficients.spread_over_cells(problem.coefficients.capacity / problem.grid.cell_volume)
    assert problem.source_energy(forcing, 1.0, 1)[0] == pytest.approx(density.sum() * problem.grid.cell_volume)
    return float(density.sum() * problem.grid.cell_volume), density


@in_turn("edges", ["reflect", "wrap"])
@in_turn("chosen", [[0], [1], [0, 1], [0, 1, 2], [1, 3]], ids=str)
def test_smoothed_sources_keep_their_power_at_any_time(chosen: list[int], edges: str) -> None:
    """Sources in and out of time, across two materials of unlike heat capacity: density is smoothed, not warming."""
    sources = [HEATERS[number] for number in chosen]
    passes = gaussian(0.03, target="sources", edges=edges)
    smooth, plain = (with_passes(*some, sources=sources, **TWO) for some in ([passes], []))
    for time in (0.0, 0.007):
        power, density = heaters(smooth, time)
        expected, raw = heaters(plain, time)
        assert power == pytest.approx(expected, rel=1e-9)
        np.testing.assert_allclose(
            density, smooth_field(smooth, "sources", raw, SPACING), rtol=1e-9, atol=1e-9 * raw.max()
        )


def test_zero_edges_lose_what_they_carry_out() -> None:
    lost = with_passes(gaussian(0.03, target="sources", edges="zero"), sources=HEATERS[:1])
    assert heaters(lost, 0.0)[0] < 0.95 * 7.0


@in_turn(("axis", "shape"), [("x", (27, 31)), ("y", (27, 40)), ("z", (31, 40))])
def test_slices_are_smoothed_along_the_axes_that_they_have(axis: str, shape: tuple[int, int]) -> None:
    cut = {"axis": axis, "at": 0.1, "count": 1}
    document = tomllib.loads(with_passes().to_toml())
    scenario = loads(
        tomli_w.dumps({**document, "output": {"slices": [cut]}, "smoothing": [gaussian(0.02, target="slices")]})
    )
    problem = build_problem(scenario)
    point = np.zeros(shape)
    point[shape[0] // 2, shape[1] // 2] = 1.0
    after = problem.smoothed_slice(axis, point)
    widths = [size for name, size in zip("zyx", SPACING, strict=True) if name != axis]
    for i, width in enumerate(widths):
        assert spread(after, i) * width == pytest.approx(0.02, rel=0.01)


def test_a_kernel_that_needs_a_gpu_says_so_where_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: object) -> np.ndarray:
        raise RuntimeError("no driver")

    monkeypatch.setattr("heatsim.problem.terms.smoothing._convolved", fail)
    with pytest.raises(NoGpuError, match=r'"tiled" needs a CUDA GPU.*"auto" runs anywhere'):
        smooth_field(with_passes(gaussian(kernel="tiled")), "initial", NOISE, SPACING)


@pytest.mark.gpu
@pytest.mark.parametrize("one", PASSES, ids=["gaussian", "box", "binomial", "mask"])
def test_kernels_on_a_gpu_smooth_to_the_same_bits(one: dict[str, object]) -> None:
    field = NOISE.astype(np.float32)
    expected = smooth_field(with_passes(one), "initial", field, SPACING)
    # Lines of 31 weights are more than registers hold.
    for kernel in ("basic", "tiled", *(["register"] if one.get("filter") != "binomial" else [])):
        np.testing.assert_array_equal(
            smooth_field(with_passes({**one, "kernel": kernel}), "initial", field, SPACING), expected
        )


def test_a_mask_too_large_for_a_kernel_is_told_with_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("heatsim_kernels.field.convolution.cuda.mask_pass.require_device", lambda: None)
    scenario = with_passes(gaussian(0.027, filter="binomial", kernel="register"))
    with pytest.raises(ScenarioError, match=r'smoothing\.0\.kernel: .*31.* too large .*kernel = "auto"'):
        smooth_field(scenario, "initial", NOISE.astype(np.float32), SPACING)
