"""Arrays in both precisions, and when two are the same."""

from __future__ import annotations

from typing import Any

import numpy as np

FLOATS = (np.float32, np.float64)


def same_bits(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any]) -> bool:
    """Equality of type, shape and every bit: it tells -0 from 0 and one not-a-number from another."""
    return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
