"""CPU: relaxation, residual and product of a level's operator, row by row; what they compute for a cell is in `cell`.

Two stencils. The finest level has the six faces of the cells; coarser ones couple a cell with all 26 around it:

    seven points: gx, gy, gz (nz, ny, nx)        twenty-seven points: a (nz, ny, 13, nx), one row for each of the 13
    of the face to the next cell up              neighbours that come later in memory; the other 13 keep theirs

Every index wraps; at a boundary face the conductance that leads round the grid is zero. So no row and no cell is
special, but for the two ends of a row, whose neighbours are not beside them. All is written in differences, g (T_i -
T_j), so a constant field gives exactly nothing where no heat leaves the grid.

A pass over n cells of the seven points moves 28 n bytes in float32 (four conductances, two fields read, one written),
one of the 27 points 68 n, on an eighth as many cells.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from heatsim_kernels.device.cpu.compilation import called, inlined, parallel_jit_for_levels
from heatsim_kernels.device.cpu.pointers import load, pointer, shifted, store, widest_vectors
from heatsim_kernels.device.cpu.threads import limited, threads_for
from heatsim_kernels.solver import cell

CpuConductances = tuple[np.ndarray, np.ndarray, np.ndarray] | np.ndarray  # see `hierarchy.GridLevel`
BLOCKS = 256  # parts of a grid that threads share out

seven_diagonal, seven_flow = inlined(cell.seven_diagonal), inlined(cell.seven_flow)
added_flow, added_size = inlined(cell.added_flow), inlined(cell.added_size)
relaxed, relaxed_from_zero, residual = inlined(cell.relaxed), inlined(cell.relaxed_from_zero), inlined(cell.residual)


@inlined
def around(i, n):
    """The index, wrapped once."""
    return i + n if i < 0 else (i - n if i >= n else i)


@inlined
def _outcome(c, b, i, flow, diagonal, share):
    """What is made of cell i with A T = `flow`: it relaxed by a share, or its residual (share 0)."""
    if c is None:
        return relaxed_from_zero(load(b, i), diagonal, share)
    cell, heat = load(c, i), load(b, i)
    return relaxed(cell, heat, flow, diagonal, share) if share != 0 else residual(heat, flow)


@inlined
def _seven(i, im, ip, c, ym, yp, zm, zp, b, share, from_zero, gx, gym, gy, gzm, gz, s):
    """What is made of cell i of a row, see `sweep`; `im`, `ip` are its neighbours in the row."""
    xl, xu, yl, yu, zl, zu = load(gx, im), load(gx, i), load(gym, i), load(gy, i), load(gzm, i), load(gz, i)
    outside = load(s, i)
    diagonal = seven_diagonal(outside, xl, xu, yl, yu, zl, zu)
    if b is not None and from_zero:
        return relaxed_from_zero(load(b, i), diagonal, share)
    along_x = xl, load(c, im), xu, load(c, ip)
    along_y, along_z = (yl, load(ym, i), yu, load(yp, i)), (zl, load(zm, i), zu, load(zp, i))
    flow = seven_flow(load(c, i), outside, *along_x, *along_y, *along_z)
    if b is None:
        return flow
    return _outcome(c, b, i, flow, diagonal, share)


@called
def _seven_row(n, out, c, ym, yp, zm, zp, b, share, from_zero, gx, gym, gy, gzm, gz, s):
    # The flags are the same for the whole row: LLVM makes a loop for each case.
    widest_vectors()
    for i in range(1, n - 1):
        value = _seven(i, i - 1, i + 1, c, ym, yp, zm, zp, b, share, from_zero, gx, gym, gy, gzm, gz, s)
        store(out, i, value)
    for i in range(0, n, max(1, n - 1)):  # both ends, or the one cell of a row of one
        im, ip = around(i - 1, n), around(i + 1, n)
        store(out, i, _seven(i, im, ip, c, ym, yp, zm, zp, b, share, from_zero, gx, gym, gy, gzm, gz, s))


@parallel_jit_for_levels
def _seven_sweep(shape, gx, gy, gz, s, x, b, share, from_zero, out, blocks):
    nz, ny, nx = shape
    rows = nz * ny
    for block in prange(blocks):
        for row in range(block * rows // blocks, (block + 1) * rows // blocks):
            z, y = row // ny, row % ny
            here, below, above = row * nx, around(z - 1, nz) * ny, around(z + 1, nz) * ny
            ym, yp = (z * ny + around(y - 1, ny)) * nx, (z * ny + around(y + 1, ny)) * nx
            zm, zp = (below + y) * nx, (above + y) * nx
            u, c = pointer(x), pointer(b)
            _seven_row(
                nx,
                shifted(pointer(out), here),
                shifted(u, here),
                shifted(u, ym),
                shifted(u, yp),
                shifted(u, zm),
                shifted(u, zp),
                shifted(c, here),
                share,
                from_zero,
                shifted(pointer(gx), here),
                shifted(pointer(gy), ym),
                shifted(pointer(gy), here),
                shifted(pointer(gz), zm),
                shifted(pointer(gz), here),
                shifted(pointer(s), here),
            )


@inlined
def _add(g, t, u, i, flow, size):
    """Add one conductance to `size`, and to `flow` what it lets flow to the neighbour u[i]."""
    if u is None:
        return flow, added_size(size, g)
    return added_flow(flow, g, t, load(u, i)), added_size(size, g)


@inlined
def _later_row(n, i, im, ip, t, u, a, flow, size):
    """Exchange with three neighbours in a later row; `a` is the first of three rows of conductances."""
    flow, size = _add(load(a, i), t, u, im, flow, size)
    flow, size = _add(load(a, n + i), t, u, i, flow, size)
    return _add(load(a, 2 * n + i), t, u, ip, flow, size)


@inlined
def _earlier_row(n, i, im, ip, t, u, a, flow, size):
    """Exchange with three neighbours in an earlier row, which keep the conductances: seen from there dx is -dx."""
    flow, size = _add(load(a, 2 * n + im), t, u, im, flow, size)
    flow, size = _add(load(a, n + i), t, u, i, flow, size)
    return _add(load(a, ip), t, u, ip, flow, size)


@inlined
def _all(n, i, im, ip, c, u1, u2, u3, u4, u5, u6, u7, u8, a, a1, a2, a3, a4, s):
    """A T at cell i of a row by the 27-point stencil, and the diagonal that bounds A: s + sum of |g|."""
    t = _value(c, i, s)
    size = load(s, i)
    flow = size * t
    flow, size = _add(load(a, im), t, c, im, flow, size)
    flow, size = _add(load(a, i), t, c, ip, flow, size)
    flow, size = _earlier_row(n, i, im, ip, t, u1, a1, flow, size)
    flow, size = _earlier_row(n, i, im, ip, t, u2, a2, flow, size)
    flow, size = _earlier_row(n, i, im, ip, t, u3, a3, flow, size)
    flow, size = _earlier_row(n, i, im, ip, t, u4, a4, flow, size)
    flow, size = _later_row(n, i, im, ip, t, u5, shifted(a, n), flow, size)
    flow, size = _later_row(n, i, im, ip, t, u6, shifted(a, 4 * n), flow, size)
    flow, size = _later_row(n, i, im, ip, t, u7, shifted(a, 7 * n), flow, size)
    return _later_row(n, i, im, ip, t, u8, shifted(a, 10 * n), flow, size)


@inlined
def _value(c, i, s):
    if c is None:
        return load(s, i)  # of the right type, and not used
    return load(c, i)


@called
def _all_row(n, out, c, u1, u2, u3, u4, u5, u6, u7, u8, b, share, from_zero, a, a1, a2, a3, a4, s):
    if from_zero:
        nothing = None, None, None, None, None, None, None, None, None
        _all_cells(n, out, *nothing, b, share, a, a1, a2, a3, a4, s)
    else:
        _all_cells(n, out, c, u1, u2, u3, u4, u5, u6, u7, u8, b, share, a, a1, a2, a3, a4, s)


@inlined
def _all_cells(n, out, c, u1, u2, u3, u4, u5, u6, u7, u8, b, share, a, a1, a2, a3, a4, s):
    for i in range(1, n - 1):
        flow, size = _all(n, i, i - 1, i + 1, c, u1, u2, u3, u4, u5, u6, u7, u8, a, a1, a2, a3, a4, s)
        store(out, i, _outcome(c, b, i, flow, size, share))
    for i in range(0, n, max(1, n - 1)):  # both ends, or the one cell of a row of one
        im, ip = around(i - 1, n), around(i + 1, n)
        flow, size = _all(n, i, im, ip, c, u1, u2, u3, u4, u5, u6, u7, u8, a, a1, a2, a3, a4, s)
        store(out, i, _outcome(c, b, i, flow, size, share))


@parallel_jit_for_levels
def _all_sweep(shape, a, s, x, b, share, from_zero, out, blocks):
    nz, ny, nx = shape
    rows = nz * ny
    for block in prange(blocks):
        u, g = pointer(x), pointer(a)
        for row in range(block * rows // blocks, (block + 1) * rows // blocks):
            z, y = row // ny, row % ny
            below, above = around(z - 1, nz) * ny, around(z + 1, nz) * ny
            front, back = around(y - 1, ny), around(y + 1, ny)
            # The four earlier rows, nearest last, and the four later ones in the order of their conductances.
            r1, r2, r3, r4 = below + front, below + y, below + back, z * ny + front
            r5, r6, r7, r8 = z * ny + back, above + front, above + y, above + back
            _all_row(
                nx,
                shifted(pointer(out), row * nx),
                shifted(u, row * nx),
                shifted(u, r1 * nx),
                shifted(u, r2 * nx),
                shifted(u, r3 * nx),
                shifted(u, r4 * nx),
                shifted(u, r5 * nx),
                shifted(u, r6 * nx),
                shifted(u, r7 * nx),
                shifted(u, r8 * nx),
                shifted(pointer(b), row * nx),
                share,
                from_zero,
                shifted(g, 13 * row * nx),
                shifted(g, (13 * r1 + 10) * nx),
                shifted(g, (13 * r2 + 7) * nx),
                shifted(g, (13 * r3 + 4) * nx),
                shifted(g, (13 * r4 + 1) * nx),
                shifted(pointer(s), row * nx),
            )


def sweep(
    g: CpuConductances,
    s: np.ndarray,
    x: np.ndarray | None,
    b: np.ndarray | None,
    share: np.float32 | None,
    out: np.ndarray,
) -> None:
    """One pass over a level: out = A x where b is None, b - A x where share is 0, and else x relaxed by that share.

    g: (gx, gy, gz) of the finest level, or the 13 conductances a cell of another. `x` None is a field of zeros.
    """
    shape, from_zero = s.shape, x is None
    values = out if x is None else x  # of zeros nothing is read
    blocks = min(BLOCKS, shape[0] * shape[1])
    with limited(threads_for(s.size)):
        if isinstance(g, tuple):
            _seven_sweep(shape, *g, s, values, b, share, from_zero, out, blocks)
        else:
            _all_sweep(shape, g, s, values, b, share, from_zero, out, blocks)
