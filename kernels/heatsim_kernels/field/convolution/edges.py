"""What stands in for the elements that are missing beyond the ends of an axis.

    zero       0 0 0 | a b c d | 0 0 0
    nearest    a a a | a b c d | d d d
    reflect    c b a | a b c d | d c b     about the edge of the outermost cell
    wrap       b c d | a b c d | a b c

The names are those of SciPy's `ndimage` (whose "constant" with value 0 is `zero`). With `reflect` and `wrap` every
element counts for as much as the mask has weight, so a mask of sum 1 keeps the mean of a field.
"""

from __future__ import annotations

EDGES = ("zero", "nearest", "reflect", "wrap")
ZERO, NEAREST, REFLECT, WRAP = range(len(EDGES))


def source_index(i, n, edge):
    """The element, 0 to n - 1, that stands at place i of an axis of n; -1 for a zero. `edge` is a place in EDGES.

    Any i will do: reflections and periods repeat, however short the axis. CPU and CUDA kernels compile this very text.
    """
    if 0 <= i < n:
        return i
    if edge == ZERO:
        return -1
    if edge == NEAREST:
        return 0 if i < 0 else n - 1
    if edge == WRAP:
        return i % n
    j = i % (2 * n)
    return j if j < n else 2 * n - 1 - j
