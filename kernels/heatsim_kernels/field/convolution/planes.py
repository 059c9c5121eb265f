"""Fields as batches of planes: the one form in which kernels see them, whatever axis a mask lies along.

A plane is rows of cells; a cell holds `channels` neighbouring elements, each smoothed by itself. Rows may lie further
apart than they are long (row pitch), and the planes of a 3-D field may be taken across any axis but the last.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

PRECISIONS = (np.dtype(np.float32), np.dtype(np.float64))


class Planes(NamedTuple):
    """A view (planes, rows, elements) of a field, each row contiguous; `channels` elements make a cell."""

    values: np.ndarray
    channels: int = 1

    @property
    def shape(self) -> tuple[int, int, int]:
        """Planes, rows and elements of a row."""
        planes, rows, elements = self.values.shape
        return planes, rows, elements


def checked(field: np.ndarray) -> np.ndarray:
    """The field; raises `ValueError` unless it is float32 or float64, has elements, and neighbours in memory along its
    last axis."""
    if field.dtype not in PRECISIONS:
        raise ValueError(f"a field to be smoothed is float32 or float64, not {field.dtype}")
    if field.size == 0:
        raise ValueError(f"a field of shape {field.shape} has no cells")
    if field.shape[-1] > 1 and field.strides[-1] != field.itemsize:
        raise ValueError("the elements of a row must be neighbours in memory; pass numpy.ascontiguousarray(field)")
    return field


def result_for(field: np.ndarray, out: np.ndarray | None) -> np.ndarray:
    """`out` itself, or a new array like the field; raises `ValueError` where `out` does not fit or shares memory."""
    if out is None:
        return aligned(field.shape, field.dtype)
    if out.shape != field.shape or out.dtype != field.dtype:
        raise ValueError(f"out is {out.shape} {out.dtype}, the field {field.shape} {field.dtype}")
    if np.may_share_memory(out, field):
        raise ValueError("out must not share memory with the field")
    return checked(out)


def aligned(shape: tuple[int, ...], dtype: np.dtype, line: int = 64) -> np.ndarray:
    """A new array that starts a cache line."""
    items = int(np.prod(shape))
    raw = np.empty(items * dtype.itemsize + line, np.uint8)
    start = -raw.ctypes.data % line
    return raw[start : start + items * dtype.itemsize].view(dtype).reshape(shape)
