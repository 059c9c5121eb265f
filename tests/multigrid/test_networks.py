"""Parts, trees and sums of a network against SciPy's and NumPy's: on the CPU, the simulator and a GPU."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse.csgraph as csgraph
import simulate_networks
from heatsim_kernels.solver.cpu import network, operations
from heatsim_kernels.solver.network import APART, ROOT
from heatsim_kernels.solver.operator import Operator
from helpers import simulator
from helpers.in_turn import in_turn
from multigrid_cases import matrix
from simulate_networks import AXIS, BETWEEN, DROP, NETWORKS, Results, inputs, network_of

simulated = simulator.fixture_of(simulate_networks.__file__)
WIDER = {"many blocks": ((40, 41, 42), (False, True, False)), "a long way": ((1, 1, 3000), (False, False, False))}


def require_right(found: Results, shape: tuple[int, int, int], periodic: tuple[bool, bool, bool]) -> None:
    labels, chosen, T, left = inputs(shape)
    faces = []
    for axis in range(3):
        g = BETWEEN[axis][labels, np.roll(labels, -1, 2 - axis)]
        if not periodic[axis]:
            np.moveaxis(g, 2 - axis, 0)[-1] = 0.0
        np.testing.assert_array_equal(found[f"g{axis}"], g)
        faces.append(g)
    links = -matrix(Operator(*faces, np.zeros(shape, np.float32), periodic))
    links.setdiag(0.0)
    count, part = csgraph.connected_components(links, directed=False)
    least = np.full(count, labels.size)
    np.minimum.at(least, part, np.arange(labels.size))
    np.testing.assert_array_equal(found["parts"].reshape(-1), least[part])
    roots = np.array([cell for cell in least if labels.reshape(-1)[cell]])
    np.testing.assert_array_equal(np.sort(roots), found["roots"])
    among = np.isin(least[part], chosen)
    np.testing.assert_array_equal(found["among"].reshape(-1), among)
    assert found["count"] == among.sum()
    np.testing.assert_array_equal(found["cut"], faces[0] * among.reshape(shape))
    np.testing.assert_array_equal(found["picked"], T.reshape(-1)[chosen])
    expected = T.copy()
    expected.reshape(-1)[chosen] += 2.0
    np.testing.assert_array_equal(found["placed"], np.where(among.reshape(shape), expected, 7.0))
    difference = T - np.roll(T, -1, 2 - AXIS) + DROP
    sums = (faces[AXIS] * difference).sum(), (faces[AXIS] * difference**2).sum()
    np.testing.assert_allclose(found["flow"], sums, rtol=1e-10)
    wide = faces[AXIS].astype(float)
    np.testing.assert_array_equal(found["heat of a drop"], DROP * (np.roll(wide, 1, 2 - AXIS) - wide))
    require_trees(found, labels.size, roots, links, (T.reshape(-1), left.reshape(-1)), shape)


def require_trees(found: Results, cells: int, roots: np.ndarray, links: object, fields: tuple, shape: tuple) -> None:
    """The ways are shortest ones, and what is carried by them is what NumPy finds along them."""
    T, heat = fields[0], fields[1].copy()
    ways = found["ways"].reshape(-1)
    distance = csgraph.dijkstra(links, unweighted=True, indices=roots, min_only=True)
    np.testing.assert_array_equal(ways == APART, np.isinf(distance))
    np.testing.assert_array_equal(np.flatnonzero(ways == ROOT), np.sort(roots))
    index = np.arange(cells).reshape(shape)
    beyond = [np.roll(index, 1 - 2 * (way % 2), 2 - way // 2).reshape(-1) for way in range(6)]
    reached = np.flatnonzero(ways < ROOT)
    to = np.choose(ways[reached], [each[reached] for each in beyond])
    np.testing.assert_array_equal(distance[to], distance[reached] - 1)
    ahead = np.full(cells, -1)
    ahead[reached] = to
    for cell in reached[np.argsort(-distance[reached], kind="stable")]:
        heat[ahead[cell]] += heat[cell]
    np.testing.assert_allclose(found["carried"].reshape(-1)[reached], heat[reached], rtol=1e-9, atol=1e-12)
    along = ways[reached] // 2 == AXIS
    upward = np.where(ways[reached] % 2 == 1, 1.0, -1.0) * along
    faces = [found[f"g{axis}"].reshape(-1) for axis in range(3)]
    lower = np.where(ways[reached] % 2 == 1, reached, to)
    g = np.choose(ways[reached] // 2, [each[lower] for each in faces]).astype(float)
    grown = (2.0 * heat[reached] * (T[reached] - T[to] + DROP * upward) + heat[reached] ** 2 / g).sum()
    np.testing.assert_allclose(found["sums"], [grown, (heat[reached] * upward).sum()], rtol=1e-8)


@in_turn("name", NETWORKS)
def test_a_network_on_the_cpu(name: str) -> None:
    require_right(network_of(operations, network, *NETWORKS[name]), *NETWORKS[name])


@pytest.mark.gpu
@pytest.mark.parametrize("name", [*NETWORKS, *WIDER])
def test_a_network_on_a_gpu(name: str) -> None:
    from heatsim_kernels.solver.cuda import network as cuda_network
    from heatsim_kernels.solver.cuda import operations as cuda

    trial = {**NETWORKS, **WIDER}[name]
    found = network_of(cuda, cuda_network, *trial)
    require_right(found, *trial)
    again = network_of(cuda, cuda_network, *trial)
    assert all(again[part].tobytes() == values.tobytes() for part, values in found.items())


@simulator.needs_numba_cuda
@pytest.mark.xdist_group("simulated networks")
@in_turn("name", NETWORKS)
def test_a_network_on_the_simulator(name: str, simulated: dict[str, np.ndarray]) -> None:
    found = {part.removeprefix(f"{name}: "): values for part, values in simulated.items() if part.startswith(name)}
    require_right(found, *NETWORKS[name])
