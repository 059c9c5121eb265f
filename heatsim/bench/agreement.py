"""Whether a kernel gives the results that it should: the parts that all benchmarks share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

import numpy as np

CaseType = TypeVar("CaseType")


def first_flaw(cases: Iterable[CaseType], judge: Callable[[CaseType], str], describe: Callable[[CaseType], str]) -> str:
    """What is wrong with a kernel in the first case where `judge` finds something, or "".

    Whatever exception the kernel raises is a flaw too: the other kernels are still to be measured.
    """
    for case in cases:
        try:
            flaw = judge(case)
        except Exception as error:
            flaw = f"{type(error).__name__}: {error}"
        if flaw:
            return f"{describe(case)}: {flaw}"
    return ""


def where_bits_differ(found: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Indices (n, axes) of the values that differ in a bit, of two arrays of one shape and type."""
    bits = f"u{found.itemsize}"
    return np.argwhere(np.ascontiguousarray(found).view(bits) != np.ascontiguousarray(expected).view(bits))
