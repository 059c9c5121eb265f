"""Sobel's filter: what it answers to fields whose answer is known."""

from __future__ import annotations

import numpy as np
from heatsim_kernels.field.filter_bank import filter_bank

from heatsim.output.hotspots.filters import sobel

Y, X = np.meshgrid(np.arange(-60.0, 61.0), np.arange(-60.0, 61.0), indexing="ij")


def response(field: np.ndarray, mask: np.ndarray) -> np.ndarray:
    return np.asarray(filter_bank(field[None, None], mask[None, None])[0, 0])


def test_sobel_gives_the_rise_a_cell_along_y_and_along_x() -> None:
    along_y, along_x = sobel()
    field = 7.0 + 0.25 * X - 3.0 * Y
    np.testing.assert_allclose(response(field, along_y), -3.0, atol=1e-12)
    np.testing.assert_allclose(response(field, along_x), 0.25, atol=1e-12)
