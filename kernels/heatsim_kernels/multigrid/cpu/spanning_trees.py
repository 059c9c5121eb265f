"""CPU: trees over the cells that conduct, from given cells on, and heat that is carried along them.

A tree tells which cells are connected with those that it starts from. Along it the heat that an approximate solution
leaves in each cell can be carried out, so that none is left: then the flux is one that keeps heat, as those are which
bound the conductance of a body from below (see `heatsim.homogenisation`). It is one thread's work, a cell at a time.
"""

from __future__ import annotations

import numpy as np

from heatsim_kernels.runtime.cpu.compilation import inlined, jit

ROOT, APART = 6, 255  # in place of a way: where a tree starts, and cells that it does not reach


@inlined
def _beyond(i, way, nz, ny, nx):
    """The cell beyond face 0 to 5 of cell i, x_min to z_max, around the end where there is none."""
    x, rest = i % nx, i // nx
    y, z = rest % ny, rest // ny
    if way == 0:
        return i - 1 if x > 0 else i + (nx - 1)
    if way == 1:
        return i + 1 if x < nx - 1 else i - (nx - 1)
    if way == 2:
        return i - nx if y > 0 else i + (ny - 1) * nx
    if way == 3:
        return i + nx if y < ny - 1 else i - (ny - 1) * nx
    if way == 4:
        return i - ny * nx if z > 0 else i + (nz - 1) * ny * nx
    return i + ny * nx if z < nz - 1 else i - (nz - 1) * ny * nx


@inlined
def _conductance(gx, gy, gz, i, other, way):
    """That of face `way` of cell i, beyond which is the other cell."""
    if way < 2:
        return gx[i] if way == 1 else gx[other]
    if way < 4:
        return gy[i] if way == 3 else gy[other]
    return gz[i] if way == 5 else gz[other]


@jit
def grow(gx, gy, gz, shape, roots, together, ways, order):
    """Grow trees from the roots (n,) over faces that conduct, nearest cells first; returns how many cells they have.
    From all of them `together`, or from one after another that no earlier tree has reached.

    gx, gy, gz: see `Operator`, flat; ways: (cells,) uint8, APART before, then the face of each cell behind which the
    one is that it was reached from; order: (cells,) int64, takes the cells in the order in which they are reached.
    """
    nz, ny, nx = shape
    count, done = 0, 0
    for number in range(len(roots)):
        root = roots[number]
        if ways[root] != APART:
            continue
        ways[root] = ROOT
        order[count] = root
        count += 1
        while done < count and (not together or number == len(roots) - 1):
            i = order[done]
            done += 1
            for way in range(6):
                other = _beyond(i, way, nz, ny, nx)
                if ways[other] == APART and _conductance(gx, gy, gz, i, other, way) > 0:
                    ways[other] = way ^ 1
                    order[count] = other
                    count += 1
    return count


@jit
def carry_out(gx, gy, gz, shape, order, ways, T, axis, drop, left, outside):
    """Carry the heat that is `left` in each cell, W, to the roots of its tree and out to what they are tied to, at 1 K
    and with the conductance `outside` (cells,). Between neighbours along an axis, 0 for x, lies a `drop` besides, K.

    Returns by how much the sum of q^2/g over all faces grows, W K, and how much more passes along the axis, W; `left`
    is used up.
    """
    nz, ny, nx = shape
    grown, passed = 0.0, 0.0
    for place in range(len(order) - 1, -1, -1):
        i = order[place]
        heat, way = np.float64(left[i]), ways[i]
        if way != ROOT:
            other = _beyond(i, way, nz, ny, nx)
            g, difference = np.float64(_conductance(gx, gy, gz, i, other, way)), np.float64(T[i]) - T[other]
            if way // 2 == axis:
                difference += drop if way % 2 else -drop
                passed += heat if way % 2 else -heat
            grown += 2.0 * heat * difference + heat * heat / g
            left[other] += heat
        elif outside[i] > 0:
            grown += 2.0 * heat * (T[i] - 1.0) + heat * heat / np.float64(outside[i])
        left[i] = 0.0
    return grown, passed
