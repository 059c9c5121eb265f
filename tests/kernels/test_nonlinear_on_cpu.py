"""Temperature-dependent problems on the CPU: potentials by pieces, several steps and stages a pass."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from heatsim_kernels.device.cpu import threads
from heatsim_kernels.explicit.cpu import tile_plan
from heatsim_kernels.explicit.enthalpy.coefficients import NonlinearForcing
from heatsim_kernels.explicit.enthalpy.cpu.stepper import EnthalpyPass, make_stepper
from heatsim_kernels.explicit.enthalpy.cpu.straight_tiles import BENT, KIND, SEAM, STRAIGHT, THREAD, Y0, Y1, cut_tiles
from heatsim_kernels.explicit.enthalpy.kernel_arguments import is_paired
from heatsim_kernels.explicit.enthalpy.lookup_tables import EnthalpyTables, tabulate
from heatsim_kernels.explicit.enthalpy.material import EnthalpyMaterial
from helpers.arrays import same_bits
from helpers.in_turn import in_turn
from helpers.kernel_cases import cut_rows
from nonlinear_cases import (
    ALLOY,
    GRADED,
    HELD,
    PURE,
    REFERENCE,
    SPACING,
    STEEL,
    STEP,
    NonlinearCase,
    equal_cells,
    forcing_with_tangents,
    outcome,
    random_boundary,
    random_case,
    tables,
    terms_of_zones,
    with_one_tangent,
)
from stage_cases import stages

SILICON = EnthalpyMaterial.sampled(lambda T: 148.0 * (300.0 / T) ** 1.3, lambda T: np.array(1.65e6), 250.0, 1200.0)
CASES: dict[str, dict[str, Any]] = {
    "one material": {"several": False, "periodic": (False, True, False), "by_cell": False},
    "several, open": {"by_cell": False, "seed": 1},
    "several, periodic in x and z, heat by cell": {"periodic": (True, False, True), "seed": 2},
}
PRECISIONS = dict(zip(CASES, (np.float32, np.float64, np.float32), strict=True))  # each kernel compiles for seconds


@pytest.mark.parametrize(
    ("name", "dtype"),
    [pytest.param(*item, marks=pytest.mark.long if "periodic" in item[0] else []) for item in PRECISIONS.items()],
)
def test_fused_steps_have_the_bits_of_single_ones(name: str, dtype: type, monkeypatch: pytest.MonkeyPatch) -> None:
    if name == "one material":
        monkeypatch.setattr(threads, "CELLS_A_THREAD", 1)  # small grids would have one thread only
        monkeypatch.setattr(tile_plan, "MIN_SLAB", 5)  # and one slab
    for number, shape in enumerate(((1, 9, 40), (9, 13, 37), (20, 11, 70))):
        case = random_case(shape, **CASES[name]).without_ambients()
        single = with_one_tangent(make_stepper(case.coefficients, np.dtype(dtype), 1), case, 7)
        for fused, budget, parts in ((2, 1, 1), (3, 30_000, 3), (5, 2**30, 2)):
            monkeypatch.setattr(tile_plan, "L2_BUDGET", budget)
            cut_rows(monkeypatch, parts)
            found = with_one_tangent(make_stepper(case.coefficients, np.dtype(dtype), fused), case, 7)
            assert same_bits(found.field, single.field), (number, fused)
            heat = single.heat_entered
            np.testing.assert_allclose(found.heat_entered, heat, rtol=1e-11, atol=1e-12 * abs(heat).max())


@in_turn(
    ("periodic", "layers"), [((False, False, False), False), ((True, True, True), False), ((False, False, False), True)]
)
def test_straight_tiles_have_the_bits_of_the_others(
    periodic: tuple[bool, bool, bool], layers: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Steel and alloy low in a corner of glass, in which a cell is held; or below glass, in layers."""
    monkeypatch.setattr(tile_plan, "L2_BUDGET", 30_000)
    zones = np.full((48, 21, 37), HELD - 1)  # glass
    zones[:6, :4, :9], zones[2:4, 2:5, 4:12], zones[30, 10, 20] = 0, 1, HELD
    if layers:
        zones = np.broadcast_to(np.repeat([0, 1, HELD - 1], (6, 2, 40))[:, None, None], zones.shape)
    coefficients = terms_of_zones(zones, tables(), periodic=periodic, closed=(False,) * 6, boundary_per_cell=True)
    assert is_paired(coefficients) == layers
    rng = np.random.default_rng(3)
    heat = rng.uniform(-100, 100, (2, coefficients.class_count)) * (coefficients.capacity > 0)
    heat[:, ::2] = 0.0
    forcing = NonlinearForcing(random_boundary(rng, coefficients, 2), heat)
    case = NonlinearCase(coefficients, forcing, rng.uniform(0, 300, zones.shape)).without_ambients()
    tiles = make_stepper(coefficients, np.dtype(float), 3)._plan.tiles
    covered = np.zeros(zones.shape, int)
    for z0, z1, y0, y1, x0, x1, _, _, kind, _ in tiles:
        covered[z0:z1, y0:y1, x0:x1] += 1
        assert kind == BENT or (zones[z0:z1, y0:y1, x0:x1] > 1).all()
    assert (covered == 1).all()
    assert 0 < (tiles[:, KIND] == STRAIGHT).sum() < len(tiles)
    assert (tiles[:, SEAM] < tiles[:, Y1]).any()  # two side by side are one
    straight = [stepped_and_staged(case, fused) for fused in (1, 3)]
    monkeypatch.setattr(EnthalpyPass, "cut_tiles", lambda self, tiles, halo, threads, tallest: tiles)
    bent = [stepped_and_staged(case, fused) for fused in (1, 3)]
    for one, other in zip(straight, bent, strict=True):
        assert same_bits(one["field"], other["field"])
        scale = 1e-12 * abs(other["heat"]).max()
        np.testing.assert_allclose(one["heat"], other["heat"], rtol=1e-11, atol=scale)
        np.testing.assert_allclose(one["by block"], other["by block"], rtol=1e-11, atol=scale)


@pytest.mark.parametrize(("threads", "joined"), [(2, True), (3, False)])
def test_straight_tiles_of_two_slabs_are_one_where_threads_stay_even(threads: int, joined: bool) -> None:
    """A quarter of the planes is bent, in two slabs of two tiles each. Three threads want tiles to share out."""
    tiles = cut_tiles(slabs_of(80), bent_quarter(), (False, False, False), 4, threads, 80)
    straight = tiles[tiles[:, KIND] == STRAIGHT]
    assert {(z0, z1) for z0, z1, *_ in straight.tolist()} == ({(44, 160)} if joined else {(44, 80), (80, 160)})
    assert {(z0, z1) for z0, z1, *_ in tiles[tiles[:, KIND] == BENT].tolist()} == {(0, 44)}
    assert set(tiles[:, THREAD]) == set(range(threads))


def test_straight_tiles_side_by_side_are_one_where_their_planes_fit() -> None:
    """Without potentials a tile may have twice the rows, and less overlap."""
    for tallest, heights in ((79, {40}), (80, {80}), (160, {80})):
        tiles = cut_tiles(slabs_of(40), bent_quarter(), (False, False, False), 4, 2, tallest)
        straight, bent = (tiles[tiles[:, KIND] == kind] for kind in (STRAIGHT, BENT))
        assert set((straight[:, Y1] - straight[:, Y0]).tolist()) == heights
        assert (straight[:, SEAM] - straight[:, Y0] == 40).all()
        assert (bent[:, SEAM] == bent[:, Y1]).all()
        assert (bent[:, Y1] - bent[:, Y0] == 40).all()


def slabs_of(rows: int) -> np.ndarray:
    """Tiles of so many rows in two slabs of 160 x 160 x 160 cells."""
    given = [(z, z + 80, y, y + rows, 0, 160, y // rows, y + rows) for z in (0, 80) for y in range(0, 160, rows)]
    return np.array(given)


def bent_quarter() -> np.ndarray:
    """The rows of 160 planes of which the first 40 are bent."""
    return np.repeat(np.arange(160) < 40, 160).reshape(160, 160)


def stepped_and_staged(case: NonlinearCase, fused: int) -> dict[str, np.ndarray]:
    """The field after some steps and a step of several stages."""
    stepper = make_stepper(case.coefficients, np.dtype(float), fused)
    stepper.field.put_state(case.start)
    forcing = forcing_with_tangents(stepper, case)
    stepper.advance(STEP, 7, forcing)
    stepper.take_stages(STEP, stages("two", float), 0, forcing)
    stepper.accept()
    return {
        "field": np.array(stepper.field.state()),
        "heat": stepper.heat_entered(),
        "by block": np.array(stepper._plan.flows),
    }


@in_turn(("name", "fused"), [("one material", 3), (list(CASES)[-1], 1), (list(CASES)[-1], 3)])
def test_stages_are_those_of_the_text(name: str, fused: int) -> None:
    """Against explicit steps of the same stepper: L of a state is what a step adds to it."""
    case, count = random_case((5, 9, 37), **CASES[name]), 6
    chosen = stages("two", np.float64, seed=3, count=count)
    stepper, euler = (make_stepper(case.coefficients, np.dtype(np.float64), number) for number in (fused, 1))
    stepper.field.put_state(case.start)
    forcing = forcing_with_tangents(stepper, case)
    stepper.take_stages(STEP, chosen, 0, forcing)
    stepper.accept()
    fields = [case.start]
    for k, stage in enumerate(chosen):
        euler.field.put_state(fields[-1])
        euler.advance(STEP, 1, forcing.of_steps(k, 1))
        change = np.array(euler.field.state()) - fields[-1]
        start, before = fields[0], fields[max(0, len(fields) - 2)]
        new = start + stage.mu * (fields[-1] - start) + stage.nu * (before - start) + stage.rate * change
        fields.append(new)
    np.testing.assert_allclose(stepper.field.state(), fields[-1], rtol=0, atol=1e-11)


def with_long_rows(of: EnthalpyTables, *names: str) -> EnthalpyTables:
    """The same tables with rows for more pieces than registers hold."""

    def longer(table: np.ndarray) -> np.ndarray:
        added = np.zeros((*table.shape[:2], 64 - table.shape[2]))
        added[:, 0] = np.inf
        return np.concatenate((table, added), axis=2)

    return replace(of, **{name: longer(getattr(of, name)) for name in names})


@in_turn(("several", "dtype"), [(False, "float32"), (True, "float64")], ids=["one", "several"])
def test_pieces_searched_in_memory_have_the_bits_of_those_in_registers(dtype: str, several: bool) -> None:
    case = random_case((5, 6, 40), several=several, seed=3)
    tables = with_long_rows(case.coefficients.tables, "potentials", "temperatures", "conductivities")
    plain = case._replace(coefficients=replace(case.coefficients, tables=tables))
    in_registers, in_memory = (
        outcome(make_stepper(each.coefficients, np.dtype(dtype)), each, 5) for each in (case, plain)
    )
    assert same_bits(in_memory.field, in_registers.field)


@in_turn("periodic", [(False, False, False), (True, True, True)], ids=["walls", "periods"])
@in_turn("sizes", [(3, 12, 5), (8, 60, 3), (4, 20, 17)], ids=["blocks", "layers", "long runs"])
def test_interfaces_that_cut_rows_pass_what_interfaces_along_rows_do(
    sizes: tuple[int, int, int], periodic: tuple[bool, bool, bool]
) -> None:
    shape, rng = (8, 60, 100), np.random.default_rng(5)
    zones = rng.integers(0, HELD, [-(-n // size) for n, size in zip(shape, sizes, strict=True)])
    if sizes[1] == shape[1]:  # more cells of a class than are computed at once
        zones[:] = np.arange(zones.shape[2]) % 2
    for axis, size in enumerate(sizes):
        zones = zones.repeat(size, axis)
    zones, start = zones[:8, :60, :100], rng.uniform(0, 300, shape)
    found = []
    for axes in ((0, 1, 2), (0, 2, 1)):
        coefficients = terms_of_zones(
            zones.transpose(axes), tables(), (1e-3, 1e-3, 2e-3), periodic=periodic, closed=(True,) * 6
        )
        stepper = make_stepper(coefficients, np.dtype(float))
        stepper.field.put_state(start.transpose(axes))
        nothing = NonlinearForcing.insulated(coefficients)
        stepper.advance(STEP / 4, 5, NonlinearCase(coefficients, nothing, start).linear_forcing())
        found.append(np.array(stepper.field.state()).reshape(coefficients.shape).transpose(axes))
    assert np.abs(found[0] - start).max() > 10
    np.testing.assert_allclose(found[0], found[1], rtol=0, atol=1e-10)


def test_the_defect_of_constant_heat_capacities_is_that_of_the_states(monkeypatch: pytest.MonkeyPatch) -> None:
    graded, *others = (tabulate([each], REFERENCE) for each in (GRADED, ALLOY, PURE, STEEL))
    assert graded.keeps_temperature
    assert not any(each.keeps_temperature for each in others)
    rng, kernel = np.random.default_rng(3), EnthalpyPass(equal_cells((5, 6, 7), graded, SPACING), np.dtype(float))
    kernel._medium_for(STEP)
    start, end = rng.uniform(0, 300, (2, 210))
    one, after = start + rng.uniform(-1, 1, 210), end + rng.uniform(-1, 1, 210)
    found = kernel.defect(start, one, end, after, 0.1)
    monkeypatch.setitem(vars(graded), "keeps_temperature", False)
    np.testing.assert_allclose(found, kernel.defect(start, one, end, after, 0.1), rtol=1e-8)
