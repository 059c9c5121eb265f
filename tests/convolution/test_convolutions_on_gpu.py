"""The CUDA convolutions on a real device against the CPU."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from convolution_cases import numbers
from heatsim_kernels.field.convolution import (
    EDGES,
    LINE_KERNELS,
    PLANE_KERNELS,
    convolve_lines,
    convolve_planes,
    separable,
)
from helpers.arrays import FLOATS, same_bits

pytestmark = pytest.mark.gpu
# Every kernel in both precisions, the edges in turn; the best one with all edges.
LINES = [(kernel, EDGES[n % 4], FLOATS[n % 2]) for n, kernel in enumerate(LINE_KERNELS[1:])]
LINES += [(kernel, EDGES[(n + 2) % 4], FLOATS[(n + 1) % 2]) for n, kernel in enumerate(LINE_KERNELS[1:])]
PLANES = [(kernel, EDGES[n % 4], FLOATS[n % 2]) for n, kernel in enumerate(PLANE_KERNELS[1:])]
PLANES += [("register", edge, np.float32) for edge in EDGES]


def test_line_passes_of_a_gpu_have_the_bits_of_the_cpu() -> None:
    shapes = ((19, 70, 260), (3, 129, 517), (1, 1, 1000), (5, 2, 3))
    for (kernel, edge, dtype), shape, axis in product(LINES, shapes, range(3)):
        mask, field = numbers((9,), dtype, 1), numbers(shape, dtype, 2)
        found = convolve_lines(field, mask, axis, edge, kernel, "cuda")
        assert same_bits(found, convolve_lines(field, mask, axis, edge)), (kernel, edge, dtype, shape, axis)


def test_plane_passes_of_a_gpu_have_the_bits_of_the_cpu() -> None:
    for (kernel, edge, dtype), shape in product(PLANES, ((301, 517), (2, 130, 260), (1, 3))):
        mask, field = numbers((5, 9), dtype, 3), numbers(shape, dtype, 4)
        found = convolve_planes(field, mask, edge, kernel, "cuda")
        assert same_bits(found, convolve_planes(field, mask, edge)), (kernel, edge, dtype, shape)


def test_the_best_kernels_of_a_gpu_serve_the_least_and_the_widest_mask() -> None:
    for dtype, width in product(FLOATS, (3, 31)):
        field, image = numbers((37, 41, 70), dtype, 5), numbers((60, 70, 3), dtype, 6)
        line, plane = numbers((width,), dtype, 7), numbers((width, width), dtype, 8)
        assert same_bits(separable(field, [line] * 3, device="cuda"), separable(field, [line] * 3)), (dtype, width)
        on_gpu = convolve_planes(image, plane, device="cuda", channels=True)
        assert same_bits(on_gpu, convolve_planes(image, plane, channels=True)), (dtype, width)


def test_interleaved_channels_and_pitched_rows_go_to_the_gpu_and_back() -> None:
    mask, image = numbers((3, 3), np.float32, 9), numbers((50, 61, 3), np.float32, 10)
    found = convolve_planes(image, mask, kernel="tiled", device="cuda", channels=True)
    assert same_bits(found, convolve_planes(image, mask, channels=True))
    field, out = numbers((50, 90), np.float32, 11)[:, 3:80], np.zeros((50, 100), np.float32)[:, 5:82]
    assert convolve_planes(field, mask, device="cuda", out=out) is out
    assert same_bits(np.ascontiguousarray(out), convolve_planes(field, mask))
