"""NumPy: one thread, plane by plane with `out=`, so that the temporaries stay in cache."""

import numpy as np

from .problem import NUMBER, Sweeps

NAME, DISTRIBUTION, BOUNDARY = "NumPy", "numpy", "ghost"
SETTINGS = "plane by plane, out= everywhere, one thread (twice the rate of whole-array expressions)"


def available() -> str | None:
    return None


def prepare(initial: np.ndarray) -> Sweeps:
    fields = [np.pad(initial, 1), np.pad(np.zeros_like(initial), 1)]
    scratch = np.empty(initial.shape[1:], initial.dtype)

    def advance(steps: int) -> None:
        for _ in range(steps):
            _sweep(*fields, scratch)
            fields.reverse()

    return Sweeps(advance, lambda: fields[0][1:-1, 1:-1, 1:-1])


def _sweep(old: np.ndarray, new: np.ndarray, scratch: np.ndarray) -> None:
    for k in range(1, len(old) - 1):
        plane, out = old[k], new[k, 1:-1, 1:-1]
        np.add(old[k - 1, 1:-1, 1:-1], old[k + 1, 1:-1, 1:-1], out=out)
        for neighbour in (plane[2:, 1:-1], plane[:-2, 1:-1], plane[1:-1, 2:], plane[1:-1, :-2]):
            out += neighbour
        out *= NUMBER
        np.multiply(plane[1:-1, 1:-1], 1 - 6 * NUMBER, out=scratch)
        out += scratch
