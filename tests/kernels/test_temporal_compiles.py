"""`temporal` compiles without a GPU, and what it compiles to."""

from __future__ import annotations

import re
from importlib.util import find_spec

import numpy as np
import pytest
from heatsim_kernels.explicit.coefficients import StencilCoefficients
from heatsim_kernels.explicit.cuda_cell.configuration import StencilConfiguration
from helpers.ptx import compile_to_ptx
from numba import config
from test_cuda_compiles import REGISTERS, registers, spilled_bytes

pytestmark = [
    pytest.mark.skipif(find_spec("numba_cuda") is None, reason="numba-cuda is not installed"),
    pytest.mark.skipif(bool(config.ENABLE_CUDASIM), reason="the CUDA simulator compiles nothing"),
]
# Whether the material is uniform, type of the classes, whether there is heat by class, boundary values a cell, losses,
# layers along z.
PLAIN, HEATED, HEATED_BY_CELL = (
    (True, "", *others, False, False) for others in ((False, False), (True, False), (True, True))
)
MATERIALS, LOSING_BY_CLASS = (False, "uint8", True, False, False, False), (False, "uint8", True, False, True, False)
LOSING, LOSING_BY_CELL = (True, "", True, False, True, False), (True, "", True, True, True, False)
LAYERS, LAYERS_BY_CELL = (False, "uint8", False, False, False, True), (False, "uint8", True, True, False, True)
LOSING_LAYERS = (False, "uint8", True, False, True, True)
WALLED, PERIODIC = (False, False, False), (True, True, True)


@pytest.mark.parametrize(
    ("precision", "coefficients", "periodic", "aligned", "traced", "capability", "stage"),
    [  # nearly every pair of these; boundary values come one a cell in two
        ("float32", LOSING_BY_CELL, WALLED, True, True, (9, 0), ""),
        pytest.param("float32", HEATED_BY_CELL, WALLED, True, True, (9, 0), "", marks=pytest.mark.long),
        pytest.param("float32", HEATED, WALLED, True, True, (9, 0), "", marks=pytest.mark.long),
        pytest.param("float64", MATERIALS, PERIODIC, True, False, (9, 0), "", marks=pytest.mark.long),
        ("float64", PLAIN, PERIODIC, False, False, (8, 0), ""),
        pytest.param("float64", HEATED, WALLED, True, True, (9, 0), "two", marks=pytest.mark.long),
        pytest.param("float32", MATERIALS, PERIODIC, False, False, (8, 0), "two", marks=pytest.mark.long),
        pytest.param("float32", HEATED_BY_CELL, WALLED, True, True, (9, 0), "two", marks=pytest.mark.long),
        pytest.param("float32", LOSING, WALLED, True, True, (9, 0), "", marks=pytest.mark.long),
        pytest.param("float64", LOSING_BY_CLASS, PERIODIC, True, False, (9, 0), "", marks=pytest.mark.long),
        pytest.param("float32", LOSING_BY_CLASS, WALLED, True, True, (9, 0), "", marks=pytest.mark.long),
        pytest.param("float32", LAYERS, WALLED, True, True, (9, 0), "", marks=pytest.mark.long),
        pytest.param("float32", LAYERS, PERIODIC, False, False, (8, 0), "", marks=pytest.mark.long),
        pytest.param("float32", LAYERS_BY_CELL, WALLED, True, True, (9, 0), "", marks=pytest.mark.long),
        pytest.param("float32", LAYERS, PERIODIC, True, False, (9, 0), "two", marks=pytest.mark.long),
        pytest.param("float64", LAYERS_BY_CELL, WALLED, True, True, (9, 0), "", marks=pytest.mark.long),
        ("float64", LAYERS, PERIODIC, True, True, (9, 0), "two"),
        pytest.param("float32", LOSING_LAYERS, WALLED, True, True, (9, 0), "", marks=pytest.mark.long),
    ],
)
def test_temporal_keeps_all_in_registers_and_computes_what_was_written_out(  # type: ignore[no-untyped-def]
    precision, coefficients, periodic, aligned, traced, capability, stage
) -> None:
    uniform, class_dtype, heat, per_cell, losses, layered = coefficients
    uneven = (False, False, True)  # values differ from cell to cell at the faces of z alone
    structure = StencilConfiguration(
        precision, uniform, class_dtype, heat, False, per_cell, periodic, stage, uneven, losses, layered,
        paired=layered,
    )  # fmt: skip
    check_compiled(structure.with_room_for(81), aligned, traced, capability)


def test_the_search_for_a_piece_ends_whatever_the_cells_are() -> None:
    """What lies beyond a tile may be infinite, and a field that runs away too."""
    from heatsim_kernels.explicit.blocked.potentials import PIECE, piece_rows

    rows = piece_rows(np.vstack([[-3.0, 1.0, np.inf], np.ones((4, 3))])).reshape(-1, PIECE)
    for u in (-np.inf, np.inf, np.nan):
        assert not u <= rows[0, 5]
        assert not u >= rows[-1, 6]


@pytest.mark.parametrize(
    ("precision", "heat", "uneven", "periodic", "aligned", "pieces", "cubic"),
    [
        ("float32", True, (False, False, False), WALLED, True, 4, False),
        pytest.param("float32", False, (False, True, True), PERIODIC, False, 16, True, marks=pytest.mark.long),
        pytest.param("float64", True, (False, False, True), WALLED, False, 8, True, marks=pytest.mark.long),
        pytest.param("float64", False, (False, False, False), PERIODIC, True, 1, False, marks=pytest.mark.long),
    ],
)
def test_temporal_keeps_all_in_registers_where_heat_flows_down_a_potential(  # type: ignore[no-untyped-def]
    precision, heat, uneven, periodic, aligned, pieces, cubic
) -> None:
    structure = StencilConfiguration(
        precision, True, "", heat, False, True, periodic, uneven=uneven, pieces=pieces, cubic=cubic
    )
    check_compiled(structure, aligned, periodic == WALLED, (9, 0))


def check_compiled(structure: StencilConfiguration, aligned: bool, traced: bool, capability: tuple[int, int]) -> None:
    """That a kernel spills nothing, calls nothing and has no operation that was not written out."""
    from heatsim_kernels.explicit.blocked import march

    precision, losses, stage = structure.dtype, structure.losses, structure.stage
    tile = march.tiles_for(structure)[0 if capability >= (9, 0) else -1]
    kernel = march.build(march.TemporalVariant(structure, tile, aligned, traced))
    signature = march.signature(precision, tile.steps if stage else 0, structure.layered)
    ptx = compile_to_ptx(kernel, signature, capability, march.bounds(tile))
    assert not re.search(r"^\s*call\b", ptx, re.MULTILINE)  # all is inlined
    assert spilled_bytes(ptx, capability) == 0
    assert registers(ptx, capability) * march.bounds(tile)[0] <= REGISTERS
    real, other = ("f32", "f64") if precision == "float32" else ("f64", "f32")
    # Sums of losses are float64; halves of float64 are compared as float32.
    assert losses or (structure.pieces and other == "f32") or f".{other}" not in ptx
    # Nor is a product left for the assembler to fuse, but those of the sums of losses.
    assert losses or not re.findall(rf"(?:mul|mad|div|rcp)\S*\.{real}\b", ptx)
    assert not re.findall(r"\.ftz|\.approx", ptx)
    assert "shfl.sync" in ptx
    bytes_ = tile.columns * (4 if precision == "float32" else 8) if aligned else (4 if precision == "float32" else 8)
    assert re.search(rf"cp\.async\.ca\.shared\.global [^;]*, {bytes_};", ptx)


def test_what_is_not_fused_is_refused() -> None:
    from heatsim_kernels.explicit.blocked.march import TILES, fuses

    tile = TILES["float32"][0]
    large = (1, 300, 300)
    plain = StencilConfiguration("float32", True, "", True, False, False, WALLED)
    assert fuses(plain, tile, large)
    assert not fuses(plain, tile, (300, tile.height - 1, 300))
    assert not fuses(plain, tile, (300, 300, tile.width - 1))
    class_dtype = plain._replace(uniform=False, class_dtype="uint8")
    assert fuses(plain._replace(uniform=False), tile, large)
    assert fuses(class_dtype, tile, large)
    assert not fuses(class_dtype._replace(class_dtype="uint16"), tile, large)
    assert not fuses(class_dtype._replace(heat_field=True), tile, large)
    assert not fuses(plain._replace(heat_field=True), tile, large)
    assert fuses(plain._replace(boundary_per_cell=True), tile, large)
    assert fuses(plain._replace(losses=True), tile, large)
    assert not fuses(plain._replace(losses=True, stage="two"), tile, large)
    around = plain._replace(periodic=PERIODIC)
    assert not fuses(around, tile, large)  # a march around one plane
    assert fuses(around, tile, (tile.steps + tile.ahead, tile.height, tile.width))


def test_boundary_values_of_classes_give_way_to_the_tile(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where shared memory has no room for them, they are looked up, before a smaller tile is taken."""
    from heatsim_kernels.explicit.blocked import launch, march

    looking_up = StencilConfiguration("float64", False, "uint8", False, False, False, WALLED)
    roomy = looking_up.with_room_for(81)
    best, smaller = march.tiles_for(roomy)
    ways = (roomy, best), (looking_up, best), (looking_up, smaller)
    needed = [march.shared_bytes(march.TemporalVariant(*way, True, False)) for way in ways]
    assert needed[0] > needed[1] > needed[2] > 0
    coefficients = StencilCoefficients((9, 200, 200), np.ones((81, 6)), np.ones(81))
    monkeypatch.setattr(launch, "FusedSteps", lambda configuration, tile, *shape, **others: (configuration, tile))
    for room, way in zip(needed, ways, strict=True):
        monkeypatch.setattr(launch, "shared_memory", lambda room=room: room)
        found = launch.fused_steps(roomy, coefficients, traced=False, cell_classes=None, heat_accounts=None)  # type: ignore[arg-type]
        assert found == way


def test_boundary_values_by_cell_find_the_corner_of_the_tile(monkeypatch: pytest.MonkeyPatch) -> None:
    """It lies behind the trace's ring, for which there is no room without a trace."""
    from heatsim_kernels.explicit.blocked import launch

    by_cell = StencilConfiguration("float64", True, "", False, False, True, WALLED)
    coefficients = StencilCoefficients((9, 200, 200), np.ones((1, 6)), np.ones(1))
    monkeypatch.setattr(launch, "FusedSteps", lambda *args, traced, **others: traced)
    monkeypatch.setattr(launch, "shared_memory", lambda: 227 * 1024)
    for configuration, expected in ((by_cell, True), (by_cell._replace(boundary_per_cell=False), False)):
        found = launch.fused_steps(configuration, coefficients, traced=False, cell_classes=None, heat_accounts=None)  # type: ignore[arg-type]
        assert found is expected


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_without_a_trace_no_shared_memory_is_taken_for_one(precision: str) -> None:
    """What shared memory takes, the L1 cache lacks."""
    from heatsim_kernels.explicit.blocked.march import TemporalVariant, shared_bytes, tiles_for

    structure = StencilConfiguration(precision, False, "uint8", False, False, False, WALLED)
    tile = tiles_for(structure)[0]
    assert (
        0
        < shared_bytes(TemporalVariant(structure, tile, True, False))
        < shared_bytes(TemporalVariant(structure, tile, True, True))
    )
