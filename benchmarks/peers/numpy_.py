"""NumPy: one thread, plane by plane with `out=`, so that the temporaries stay in cache."""

import numpy as np

from .problem import NUMBER, SLOPE, Sweeps, potential

NAME, DISTRIBUTION, BOUNDARY = "NumPy", "numpy", "ghost"
SETTINGS = "plane by plane, out= everywhere, one thread (twice the rate of whole-array expressions)"


def available() -> str | None:
    return None


def prepare(initial: np.ndarray) -> Sweeps:
    fields = [np.pad(initial, 1), np.pad(np.zeros_like(initial), 1)]
    scratch = np.empty(initial.shape[1:], initial.dtype)

    def advance(steps: int) -> None:
        for _ in range(steps):
            if SLOPE:
                _sweep_potentials(*fields)
            else:
                _sweep(*fields, scratch)
            fields.reverse()

    return Sweeps(advance, lambda: fields[0][1:-1, 1:-1, 1:-1])


def _sweep_potentials(old: np.ndarray, new: np.ndarray) -> None:
    below, drives = potential(old[0]), potential(old[1])
    for k in range(1, len(old) - 1):
        above, out = potential(old[k + 1]), new[k, 1:-1, 1:-1]
        np.add(below[1:-1, 1:-1], above[1:-1, 1:-1], out=out)
        for neighbour in (drives[2:, 1:-1], drives[:-2, 1:-1], drives[1:-1, 2:], drives[1:-1, :-2]):
            out += neighbour
        out -= 6 * drives[1:-1, 1:-1]
        out *= NUMBER
        out += old[k, 1:-1, 1:-1]
        below, drives = drives, above


def _sweep(old: np.ndarray, new: np.ndarray, scratch: np.ndarray) -> None:
    for k in range(1, len(old) - 1):
        plane, out = old[k], new[k, 1:-1, 1:-1]
        np.add(old[k - 1, 1:-1, 1:-1], old[k + 1, 1:-1, 1:-1], out=out)
        for neighbour in (plane[2:, 1:-1], plane[:-2, 1:-1], plane[1:-1, 2:], plane[1:-1, :-2]):
            out += neighbour
        out *= NUMBER
        np.multiply(plane[1:-1, 1:-1], 1 - 6 * NUMBER, out=scratch)
        out += scratch
