"""Theory beside measured convolutions: accesses counted one by one, and docs/methods/convolution.md."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

import convolution_theory as theory
import numpy as np
import pytest
from heatsim_kernels.field.convolution import theory as formulas
from helpers.in_turn import in_turn

from heatsim.studies.bench import machine
from heatsim.studies.bench.convolution.benchmark import roof_share_of_copy
from heatsim.studies.bench.convolution.problems import BANKS, LINES, PLANES, ConvolutionProblem

PAGE = (Path(__file__).parents[2] / "docs" / "methods" / "convolution.md").read_text(encoding="utf-8")


def offsets(m: int) -> range:
    return range(-(m // 2), m // 2 + 1)


@in_turn(("tile", "mask"), [((1, 16), (1, 17)), ((8, 12), (3, 9)), ((9, 9), (5, 1))])
def test_accesses_of_tiled_and_cached_are_those_counted(tile: tuple[int, int], mask: tuple[int, int]) -> None:
    asked = [(y + j, x + k) for y, x in product(*map(range, tile)) for j, k in product(*map(offsets, mask))]
    outside = [each for each in asked if not (0 <= each[0] < tile[0] and 0 <= each[1] < tile[1])]
    results = tile[0] * tile[1]
    assert formulas.tile_reads(tile, mask) == pytest.approx(len(set(asked)) / results)
    assert formulas.cached_reads(tile, mask) == pytest.approx((results + len(outside)) / results)


@in_turn("mask", [(3, 3), (5, 5), (9, 9), (1, 5), (5, 1), (7, 11)])
def test_accesses_of_a_march_are_those_counted(mask: tuple[int, int]) -> None:
    rows, columns = 16, 4
    vectors = {
        (y + j, (x + k) // columns)
        for y, x in product(range(rows), range(columns))
        for j, k in product(*map(offsets, mask))
    }
    assert formulas.march_reads(rows, columns, mask) == len(vectors) * columns / (rows * columns)


def test_the_roof_is_the_lower_of_the_two_limits() -> None:
    small, large = (ConvolutionProblem(PLANES, (100, 100), "float32", (m, m)) for m in (3, 9))
    assert roof_share_of_copy(small, copy_rate=4e12, limit=60e12) == 1
    assert roof_share_of_copy(large, copy_rate=4e12, limit=60e12) == pytest.approx(60 / (4 * 20.25))
    assert roof_share_of_copy(large, copy_rate=4e12, limit=None) == 1


def row_of(page: str, name: str, heading: str) -> str:
    """A kernel's row of the table under a heading."""
    section = page.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return next(line for line in section.splitlines() if line.startswith(f"| `{name}` |"))


@in_turn("kernel", ["basic", "constant", "tiled", "output_tiled", "cached", "register"])
def test_the_page_says_of_planes_what_theory_counts(kernel: str) -> None:
    pytest.importorskip("numba_cuda", reason="numba-cuda is not installed")
    numbers = [float(cell) for cell in row_of(PAGE, kernel, "Two dimensions").split("|")[4:8]]
    found = [theory.theory_row(kernel, "cuda", ConvolutionProblem(PLANES, (64, 64), "float32", (m, m))) for m in (5, 9)]
    counted = [value for row in found for value in (row["accesses_saved"], row["intensity_asked"])]
    assert numbers == pytest.approx(counted, abs=0.0051)


@in_turn("kernel", ["direct", "shared", "im2col", "hnmtp", "register"])
def test_the_page_says_of_banks_what_theory_counts(kernel: str) -> None:
    pytest.importorskip("numba_cuda", reason="numba-cuda is not installed")
    numbers = [float(cell) for cell in row_of(PAGE, kernel, "Filter banks").split("|")[3:5]]
    found = theory.theory_row(
        kernel, "cuda", ConvolutionProblem(BANKS, (1, 4, 512, 512), "float32", (5, 5), edge="zero", filters=64)
    )
    assert numbers == pytest.approx([found["accesses_saved"], found["intensity_asked"]], rel=0.01)


def test_the_page_says_of_lines_what_theory_counts() -> None:
    pytest.importorskip("numba_cuda", reason="numba-cuda is not installed")
    rows, columns = (
        theory.theory_row("tiled", "cuda", ConvolutionProblem(LINES, (64, 64), "float32", (5,), axis))
        for axis in (1, 0)
    )
    wide = [
        theory.theory_row(name, "cuda", ConvolutionProblem(LINES, (64, 64), "float32", (17,), 1))
        for name in ("cached", "tiled")
    ]
    assert (
        f"{rows['accesses_saved']:.2f} along rows (B = 128) and {columns['accesses_saved']:.2f} along columns"
        in words(PAGE)
    )
    assert f"{wide[0]['accesses_saved']:.1f} against {wide[1]['accesses_saved']:.1f} for m = 17" in words(PAGE)


def words(page: str) -> str:
    return re.sub(r"\s+", " ", page)


def test_the_page_tabulates_tiles_as_they_are_counted() -> None:
    for m in (5, 9):
        saved = [formulas.plane_ratio(tile, m) for tile in (8, 16, 32, 64)]
        line = next(
            line for line in PAGE.splitlines() if line.startswith(f"| m = {m} |") and line.endswith(f"{m * m} |")
        )
        assert [float(cell) for cell in line.split("|")[2:6]] == pytest.approx(saved, abs=0.051)


def test_the_worked_example_of_the_page_is_the_code_beside_it() -> None:
    code = PAGE.split("```python\n")[1].split("```")[0]
    space: dict[str, object] = {}
    for line in code.splitlines():
        call, _, told = line.partition("#")
        if told and call.startswith("accesses"):
            exec(code.split("\n\n")[0], space)
            reads, once, ratio = re.fullmatch(r" \((\d+), (\d+)\), .*: ([\d.]+)", told).groups()  # type: ignore[union-attr]
            found = eval(call, space)
            assert found == (int(reads), int(once))
            assert f"{found[0] / found[1]:.2f}" == ratio


def test_the_unsigned_test_of_the_cached_listing_is_redundant_and_its_result_right() -> None:
    tile, radius = 32, 2
    for thread, f in product(range(tile), range(2 * radius + 1)):
        with np.errstate(over="ignore"):
            unsigned = np.uint32(thread) - np.uint32(radius) + np.uint32(f)
        assert unsigned >= 0  # always, which is the error
        assert (unsigned < tile) == (0 <= thread - radius + f < tile)  # and this makes up for it


def test_the_arithmetic_limit_of_the_cpu_is_measured_in_a_child() -> None:
    limit, told = machine.peak_operations_per_second("cpu", "float32", 1)
    assert limit is not None
    assert limit > 1e8
    assert "with 1 threads" in told
