"""Run the network kernels on the CUDA simulator: `NUMBA_ENABLE_CUDASIM=1 python simulate_networks.py RESULT.npz`.

What is done with a module of kernels stands here once: `test_networks` does it with those of the CPU and of a GPU.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import numpy as np
from multigrid_cases import noise

Shape = tuple[int, int, int]
Results = dict[str, np.ndarray]
NETWORKS = {
    "a box": ((4, 3, 5), (False, False, False)),
    "periodic": ((2, 5, 3), (True, True, True)),
    "a layer": ((1, 4, 6), (False, True, True)),
}
BETWEEN = np.zeros((3, 3, 3), np.float32)  # conductances along x, y, z between void, 0, and two phases
BETWEEN[:, 1:, 1:] = [[[1.0, 1.5], [1.5, 3.0]], [[2.0, 2.5], [2.5, 4.0]], [[5.0, 6.0], [6.0, 7.0]]]
AXIS, DROP = 1, 0.25


def inputs(shape: Shape) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Labels, some cells, temperatures and heat."""
    labels = np.searchsorted([-0.2, 0.5], noise(shape, 4)).astype(np.uint8)
    return labels, np.flatnonzero(labels.reshape(-1))[:3], noise(shape, 5), noise(shape, 6)


def network_of(kernels: ModuleType, networks: ModuleType, shape: Shape, periodic: tuple[bool, bool, bool]) -> Results:
    """All that a module of networks does."""
    labels, chosen, T, left = inputs(shape)
    faces = networks.connect(kernels.put(labels), BETWEEN, periodic)
    found: dict[str, Any] = {f"g{axis}": kernels.get(g).copy() for axis, g in enumerate(faces)}
    parts = networks.find_parts(faces)
    roots = networks.roots(parts, kernels.put(labels))
    among = networks.among(parts, chosen)
    found |= {"parts": kernels.get(parts), "roots": roots, "among": kernels.get(among), "count": networks.count(among)}
    warm, trees = kernels.put(T.copy()), networks.grow(faces, roots)
    heat = kernels.put(left.copy())
    found["sums"] = networks.carry_out(trees, faces, warm, AXIS, DROP, heat)
    found |= {"ways": kernels.get(trees.ways), "carried": kernels.get(heat)}
    found["flow"] = networks.flow(faces[AXIS], warm, AXIS, DROP)
    found["heat of a drop"] = kernels.get(networks.heat_of_drop(faces[AXIS], AXIS, DROP))
    found["picked"] = networks.pick(warm, chosen)
    networks.place(warm, chosen, np.full(chosen.size, 2.0))
    networks.fill_others(warm, among, 7.0)
    networks.fill_others(faces[0], among, 0.0)
    found |= {"placed": kernels.get(warm), "cut": kernels.get(faces[0])}
    return {name: np.asarray(values) for name, values in found.items()}


def main(target: str) -> None:
    from heatsim_kernels.solver.cuda import network, operations

    found = {name: network_of(operations, network, *trial) for name, trial in NETWORKS.items()}
    parts: Any = {f"{name}: {part}": values for name, each in found.items() for part, values in each.items()}
    np.savez(target, **parts)


if __name__ == "__main__":
    main(sys.argv[1])
