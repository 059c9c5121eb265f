"""Islands: cells that strong faces join, as a library finds them, on any number of threads."""

from __future__ import annotations

import numpy as np
import pytest
from heatsim_kernels.device.cpu.threads import limited
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from heatsim.solve.integrators.islands import WEAK, find_islands


@pytest.mark.parametrize("periodic", [False, True])
def test_islands_are_the_components_of_strong_faces_and_their_balances_sum_weak_ones(periodic: bool) -> None:
    rng, shape = np.random.default_rng(3), (34, 61, 67)
    cells = np.arange(np.prod(shape)).reshape(shape)
    parts = rng.integers(0, 3, (2, 3, 2)).repeat(17, 0).repeat(21, 1)[:, :61].repeat(34, 2)[:, :, :67]
    faces, one, other = [], [], []
    for axis in (2, 1, 0):
        g = rng.uniform(1.0, 9.0, shape).astype(np.float32)
        g = np.where(np.roll(parts, -1, axis) != parts, g * np.float32(1e-5), g)
        if not periodic:
            np.moveaxis(g, axis, 0)[-1] = 0.0
        faces.append(g)
        one.append(cells.ravel())
        other.append(np.roll(cells, -1, axis).ravel())
    outside, solved = rng.random(shape), rng.random(shape) < 0.99
    found = find_islands((faces[0], faces[1], faces[2]), outside, solved)
    with limited(1):
        alone = find_islands((faces[0], faces[1], faces[2]), outside, solved)
    assert found is not None
    assert alone is not None
    assert np.array_equal(found.label, alone.label)
    assert np.array_equal(found.matrix, alone.matrix)
    g, lower, upper = np.concatenate([each.ravel() for each in faces]), np.concatenate(one), np.concatenate(other)
    largest = np.zeros(cells.size)
    np.maximum.at(largest, lower, g)
    np.maximum.at(largest, upper, g)
    strong = (g > 0) & (g >= WEAK * np.maximum(largest[lower], largest[upper]))
    joined = coo_array((np.ones(strong.sum()), (lower[strong], upper[strong])), shape=(cells.size, cells.size))
    _, label = connected_components(joined, directed=False)
    names, label = np.unique(np.where(solved.ravel(), label, -1), return_inverse=True)
    # The library numbers components by their least cells too.
    assert np.array_equal(found.label, label.ravel() - 1)
    assert len(found.matrix) == len(names) - 1 > 1
    weak = (g > 0) & ~strong & (found.label[lower] != found.label[upper])
    between = weak & (found.label[lower] >= 0) & (found.label[upper] >= 0)
    assert found.matrix.sum() == pytest.approx(outside.ravel()[solved.ravel()].sum(), rel=1e-9)
    assert -np.triu(found.matrix, 1).sum() == pytest.approx(float(g[between].sum(dtype=float)), rel=1e-6)
