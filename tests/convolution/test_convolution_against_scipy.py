"""The CPU convolutions against SciPy, a plain reference, and each other."""

from __future__ import annotations

import numba
import numpy as np
from convolution_cases import SCIPY_MODES, convolved, numbers, tolerance
from heatsim_kernels.field.convolution import EDGES, convolve_lines, convolve_planes, separable
from helpers.arrays import FLOATS, same_bits
from helpers.in_turn import in_turn
from helpers.pairwise import pairwise
from scipy import ndimage

LINES = pairwise({"width": (1, 3, 5, 17, 31), "edge": EDGES, "dtype": FLOATS})


@in_turn(("width", "edge", "dtype"), [tuple(row.values()) for row in LINES])
def test_a_line_pass_is_that_of_scipy_along_any_axis(width: int, edge: str, dtype: type) -> None:
    mask = numbers((width,), dtype, 1)
    for number, shape in enumerate([(700,), (1,), (2, 65), (129, 3), (1, 1, 5), (5, 2, 16), (3, 40, 67), (33, 7, 130)]):
        field = numbers(shape, dtype, number)
        for axis in range(len(shape)):
            found = convolve_lines(field, mask, axis, edge)
            wide = [np.abs(each).astype(np.float64) for each in (field, mask)]
            expected, size = (
                ndimage.convolve1d(values.astype(np.float64), weights.astype(np.float64), axis, mode=SCIPY_MODES[edge])
                for values, weights in ((field, mask), wide)
            )
            assert np.all(np.abs(found - expected) <= tolerance(size, dtype, width)), (shape, axis)


MASKS = [(3, 3), (5, 5), (9, 9), (1, 7), (7, 1), (3, 31), (31, 5), (31, 31), (1, 1)]
PLANES = pairwise({"shape": MASKS, "edge": EDGES, "dtype": FLOATS})


@in_turn(("shape", "edge", "dtype"), [tuple(row.values()) for row in PLANES])
def test_a_plane_pass_is_the_sum_over_the_mask(shape: tuple[int, int], edge: str, dtype: type) -> None:
    """Against the definition: for fields shorter than the mask SciPy 1.17 reads outside its arrays."""
    mask = numbers(shape, dtype, 2)
    for number, planes in enumerate([(1, 40, 300), (2, 5, 131), (3, 1, 1), (1, 2, 64), (1, 9, 15)]):
        field = numbers(planes, dtype, number)
        size = convolved(np.abs(field), np.abs(mask), edge)
        error = np.abs(convolve_planes(field, mask, edge) - convolved(field, mask, edge))
        assert np.all(error <= tolerance(size, dtype, mask.size)), planes


@in_turn("edge", EDGES)
def test_a_plane_pass_is_that_of_scipy(edge: str) -> None:
    field, mask = numbers((61, 700), np.float64, 3), numbers((5, 7), np.float64, 4)
    expected = ndimage.convolve(field, mask, mode=SCIPY_MODES[edge])
    np.testing.assert_allclose(convolve_planes(field, mask, edge), expected, rtol=0, atol=1e-14)


@in_turn("dtype", FLOATS)
@in_turn("edge", EDGES)
def test_a_separable_filter_has_the_bits_of_one_pass_after_another(edge: str, dtype: type) -> None:
    masks = [numbers((width,), dtype, width) for width in (3, 5, 7)]
    for shape in ((6, 9, 40), (1, 70, 300), (5, 1, 2)):
        field = numbers(shape, dtype, 5)
        for chosen in (
            masks,
            [None, *masks[1:]],
            [masks[0], None, masks[2]],
            [*masks[:2], None],
            [None, masks[1][:1], masks[2]],
        ):
            expected = field
            for axis, mask in enumerate(chosen):
                if mask is not None:
                    expected = convolve_lines(expected, mask, axis, edge)
            assert same_bits(separable(field, chosen, edge), expected)


def test_a_separable_filter_without_masks_copies() -> None:
    field = numbers((3, 4), np.float32, 6)
    found = separable(field, [None, None])
    assert same_bits(found, field)
    assert not np.may_share_memory(found, field)


@in_turn("dtype", FLOATS)
@in_turn("edge", EDGES)
def test_channels_are_smoothed_each_by_itself(edge: str, dtype: type) -> None:
    mask = numbers((3, 5), dtype, 7)
    for channels, columns in ((2, 3), (3, 200), (4, 65)):
        image = numbers((21, columns, channels), dtype, channels)
        found = convolve_planes(image, mask, edge, channels=True)
        for channel in range(channels):
            alone = convolve_planes(np.ascontiguousarray(image[..., channel]), mask, edge)
            assert same_bits(np.ascontiguousarray(found[..., channel]), alone)


@in_turn("dtype", FLOATS)
@in_turn("planes", [True, False])
def test_rows_may_lie_further_apart_than_they_are_long(planes: bool, dtype: type) -> None:
    """What lies between the rows of the field is not read, and what lies between those of the result is left alone."""

    def run(values: np.ndarray, out: np.ndarray | None) -> np.ndarray:
        if planes:
            return convolve_planes(values, mask, "reflect", out=out)
        return separable(values, [mask[0], mask[:, 0], mask[0]], "wrap", out=out)

    mask = numbers((5, 3), dtype, 9)
    around: np.ndarray = np.full((3, 40, 150), np.nan, dtype)
    frame: np.ndarray = np.full((3, 41, 160), 7, dtype)
    around[:, 1:, 2:135] = numbers((3, 39, 133), dtype, 8)
    field, out = around[:, 1:, 2:135], frame[:, :39, 5:138]
    assert run(field, out) is out
    assert same_bits(np.ascontiguousarray(out), run(np.ascontiguousarray(field), None))
    out[:] = 7
    assert np.all(frame == 7)


def test_the_bits_do_not_depend_on_the_threads_and_a_field_may_be_read_only() -> None:
    field, masks = numbers((260, 1030), np.float32, 10), [numbers((w,), np.float32, w) for w in (17, 9)]
    field.flags.writeable = False
    results = []
    for threads in (1, 2, 3):
        numba.set_num_threads(threads)
        results.append(separable(field, masks, "wrap"))
        results.append(convolve_planes(field, np.outer(*masks), "wrap"))
    assert all(same_bits(each, results[0]) for each in results[::2])
    assert all(same_bits(each, results[1]) for each in results[1::2])


def test_a_large_result_that_bypasses_the_cache_is_the_same() -> None:
    field, mask = numbers((2050, 2048), np.float32, 11), numbers((3, 3), np.float32, 12)
    whole = convolve_planes(field, mask, "nearest")
    assert whole.nbytes > 12 * 2**20
    assert same_bits(whole[:1000], convolve_planes(field[:1001], mask, "nearest")[:1000])
    np.testing.assert_array_equal(
        separable(field, [mask[0], mask[1]])[1:1000], separable(field[:1002], [mask[0], mask[1]])[1:1000]
    )


def test_what_is_not_finite_stays_where_the_mask_carries_it() -> None:
    field = np.zeros((20, 70), np.float32)
    field[10, 30] = np.inf
    found = convolve_planes(field, np.ones((3, 3)), "zero")
    assert np.isinf(found[9:12, 29:32]).all()
    found[9:12, 29:32] = 0
    assert not found.any()
