"""What an input array may be, whatever file it comes from."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

MAX_ELEMENTS = 2**31


class Refusal(Exception):
    """The file is not used, for the reason given."""


def check_array(shape: Sequence[int], dtype: np.dtype[Any], max_elements: int) -> None:
    """Raise Refusal unless the elements are numbers or bools, and no more than `max_elements`."""
    if dtype.kind not in "biuf":
        raise Refusal(f"numbers or bools were expected, found elements of type {dtype}")
    if math.prod(shape) > max_elements:
        size = " x ".join(map(str, shape))
        raise Refusal(f"holds {size} elements, more than the {max_elements} expected at most")


def choose_dataset(names: Sequence[str], wanted: str | None) -> str:
    """Take the array `wanted`, or the only one. Raises Refusal."""
    if wanted is None and len(names) == 1:
        return names[0]
    if wanted is not None and wanted in names:
        return wanted
    found = f"found {', '.join(sorted(names)[:10])}" if names else "found none"
    if wanted is None:
        raise Refusal(f"one array, or a name in `dataset`, was expected; {found}")
    raise Refusal(f"an array named {wanted!r} was expected; {found}")
