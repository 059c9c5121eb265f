"""The formulas of convolution tiles against accesses counted one by one."""

from __future__ import annotations

from itertools import product

import pytest
from heatsim_kernels.field.convolution import theory
from helpers.in_turn import in_turn


def basic_accesses(block: range, n: int, length: int) -> int:
    """Elements that the threads of a block read from a line, each for itself, ghosts not among them."""
    return sum(0 <= i + k < length for i in block for k in range(-n, n + 1))


def tile_accesses(block: range, n: int, length: int) -> int:
    """Elements that the block reads when each is read once."""
    return len({i + k for i in block for k in range(-n, n + 1) if 0 <= i + k < length})


def blocks(size: int) -> tuple[range, range, range, int]:
    """First, inner and last block of a line of three, and its length."""
    return range(size), range(size, 2 * size), range(2 * size, 3 * size), 3 * size


@in_turn("n", [1, 2, 5, 15])
@in_turn("size", [32, 128])
def test_the_saving_of_a_line_tile_is_the_one_counted(size: int, n: int) -> None:
    first, inner, last, length = blocks(size)
    counted = [basic_accesses(block, n, length) / tile_accesses(block, n, length) for block in (first, inner, last)]
    assert counted == pytest.approx(
        [theory.line_ratio_at_end(size, n), theory.line_ratio(size, n), theory.line_ratio_at_end(size, n)], rel=1e-14
    )


@in_turn(("n", "spared"), [(1, 1), (2, 3), (5, 15)])
def test_ghosts_spare_a_triangle_of_accesses(n: int, spared: int) -> None:
    first, inner, last, length = blocks(32)
    missing = [basic_accesses(inner, n, length) - basic_accesses(block, n, length) for block in (first, last)]
    assert missing == [spared, spared] == [theory.ghost_accesses(n)] * 2


@pytest.mark.parametrize(("block", "right", "printed"), [(128, 10.20, 10.13), (32, 8.38, 8.14)])
def test_the_worked_example_of_the_book_mixes_its_two_formulas(block: int, right: float, printed: float) -> None:
    _, inner, _, length = blocks(block)
    counted = basic_accesses(inner, 5, length) / tile_accesses(inner, 5, length)
    assert round(counted, 2) == round(theory.line_ratio(block, 5), 2) == right
    assert abs(counted - printed) > 0.05
    # What the book prints is neither block's: ten accesses fewer, as at one end with n = 4, over 2n halo elements.
    assert (block * 11 - 10) / (block + 10) == pytest.approx(printed, abs=0.01)


def plane_counts(tile: int, m: int) -> tuple[int, int]:
    """Accesses of `basic` and of a tile of tile x tile results amid a large plane."""
    results, mask = range(tile), range(-(m // 2), m // 2 + 1)
    basic = sum(1 for _ in product(results, results, mask, mask))
    columns = {i + k for i in results for k in mask}
    return basic, len(set(product(columns, columns)))


@in_turn(
    ("m", "tile", "table"),
    [(5, 8, 11.1), (5, 16, 16.0), (5, 32, 19.7), (5, 64, 22.1), (9, 8, 20.3), (9, 16, 36), (9, 32, 51.8), (9, 64, 64)],
)
def test_the_saving_of_a_plane_tile_is_the_one_counted_and_tabulated(m: int, tile: int, table: float) -> None:
    basic, tiled = plane_counts(tile, m)
    assert basic / tiled == pytest.approx(theory.plane_ratio(tile, m), rel=1e-14)
    assert theory.plane_ratio(tile, m) == pytest.approx(table, abs=0.06)  # the table cuts digits off


@in_turn(("m", "input_tile", "table"), [(5, 8, 3.13), (5, 16, 7.03), (5, 32, 9.57), (9, 16, 10.13), (9, 32, 22.78)])
def test_the_intensity_of_a_tile_is_the_one_counted_and_tabulated(m: int, input_tile: int, table: float) -> None:
    output_tile = input_tile + 1 - m
    basic, tiled = plane_counts(output_tile, m)
    assert tiled == input_tile**2
    assert 2 * basic / (4 * tiled) == pytest.approx(theory.plane_intensity(output_tile, m), rel=1e-14)
    assert theory.plane_intensity(output_tile, m) == pytest.approx(table, abs=0.0051)


def test_intensity_grows_from_basic_over_constant_towards_its_limit() -> None:
    assert theory.untiled_intensity(False) == 0.25
    assert theory.untiled_intensity(True) == 0.5
    assert [theory.greatest_plane_intensity(m) for m in (5, 9)] == [12.5, 40.5]
    assert theory.plane_intensity(10**6, 5) == pytest.approx(12.5, rel=1e-4)
    assert theory.plane_intensity(16, 5, itemsize=8) == theory.plane_intensity(16, 5) / 2
