"""CUDA: relaxation, residual and product of a level's operator, by the two stencils of `cpu_rows`.

    seven points: a thread has a column of cells and marches along z       27 points: a thread has a cell

        z+1   t above       loaded now, the next t                         13 conductances of its own, and of the 13
        z     t, in a register                                             earlier neighbours the one that leads here
        z-1   t below, gz below: in registers

Every index wraps, and at a wall the conductance that leads round the grid is zero. A tile of 64 x 4 columns shares its
neighbours through the first cache. Bytes a cell from memory, in float32: 28 (seven points) and 68; the mathematics is
that of the CPU, the order of additions nearly so.
"""

from __future__ import annotations

import numpy as np
from numba import uint32, uint64

from heatsim_kernels.multigrid.cuda.field import CudaValues, launch
from heatsim_kernels.runtime.cuda.api import SIMULATED, cuda, inlined
from heatsim_kernels.runtime.cuda.launch import Triple
from heatsim_kernels.runtime.cuda.vector_access import constant

Conductances = tuple[CudaValues, CudaValues, CudaValues] | CudaValues  # of level 0, and of the others
APPLY, FIRST, RELAX, RESIDUAL = "A x", "relaxed from zero", "relaxed", "b - A x"
WIDTH, THREADS = (4, 8) if SIMULATED else (64, 256)  # of a tile, along x and in all
MARCH = 3 if SIMULATED else 16  # cells of a column that a thread goes through
MIN_BLOCKS = 1 if SIMULATED else 1024  # blocks: a march is shorter where there would be fewer
MAX_BLOCKS_ALONG_Z = 65535  # blocks
ZERO, ONE = np.uint32(0), np.uint32(1)
LATER = 13  # neighbours of 26 that come later in memory


@inlined
def place(nx):
    """x and y of a thread."""
    width, height = uint32(cuda.blockDim.x), uint32(cuda.blockDim.y)
    tile, tiles = uint32(cuda.blockIdx.x), uint32(uint32(nx + width - ONE) // width)
    x = uint32(tile % tiles * width + uint32(cuda.threadIdx.x))
    return x, uint32(tile // tiles * height + uint32(cuda.threadIdx.y))


@inlined
def lower(i, n):
    """The index before i, wrapped."""
    return uint32(i - ONE) if i > ZERO else uint32(n - ONE)


@inlined
def upper(i, n):
    """The index after i, wrapped."""
    return uint32(i + ONE) if uint32(i + ONE) < n else ZERO


def _outcome(mode):
    """What is made of a cell with A T = `flow`: that itself, it relaxed by a share, or its residual."""
    if mode == APPLY:
        return lambda t, b, i, flow, diagonal, share: flow
    if mode == FIRST:
        return lambda t, b, i, flow, diagonal, share: share * constant(b, i) / diagonal
    if mode == RESIDUAL:
        return lambda t, b, i, flow, diagonal, share: constant(b, i) - flow
    return lambda t, b, i, flow, diagonal, share: t + share * (constant(b, i) - flow) / diagonal


def build_seven(variant):
    """The kernel `(shape, march, gx, gy, gz, s, x, b, share, out)` of a mode; x is not read from zero, nor b by A x."""
    mode = variant[0]
    given, outcome = mode != FIRST, inlined(_outcome(mode))

    def seven(shape, march, gx, gy, gz, s, x, b, share, out):
        nz, ny, nx = shape
        i, j = place(nx)
        if i >= nx or j >= ny:
            return
        plane, row, z = uint32(ny * nx), uint32(j * nx), uint32(uint32(cuda.blockIdx.y) * march)
        here, end = uint32(row + i), uint32(min(z + march, nz))
        left, right = uint32(row + lower(i, nx)), uint32(row + upper(i, nx))
        front, back = uint32(lower(j, ny) * nx + i), uint32(upper(j, ny) * nx + i)
        base, below = uint32(z * plane), uint32(lower(z, nz) * plane + here)
        t_below, t = x[below], x[base + here]
        zl = constant(gz, below)
        while z < end:
            c, above = uint32(base + here), uint32(upper(z, nz) * plane + here)
            outside = constant(s, c)
            xl, xu = constant(gx, base + left), constant(gx, c)
            yl, yu, zu = constant(gy, base + front), constant(gy, c), constant(gz, c)
            diagonal = outside + ((xl + xu) + (yl + yu)) + (zl + zu)
            flow = outside * t
            if given:
                t_above = constant(x, above)
                flow = flow + xl * (t - constant(x, base + left)) + xu * (t - constant(x, base + right))
                flow = flow + yl * (t - constant(x, base + front)) + yu * (t - constant(x, base + back))
                flow = flow + zl * (t - t_below) + zu * (t - t_above)
                t_below = t
            out[c] = outcome(t, b, c, flow, diagonal, share)
            if given:
                t = t_above
            zl, base, z = zu, uint32(base + plane), uint32(z + ONE)

    return seven


def build_all(variant):
    """The kernel `(shape, march, a, s, x, b, share, out)` of a mode; D = s + sum of |a| bounds A.

    The 12 later neighbours that are not in the row come as four rows of three, and the earlier 12 as their mirror
    images: row k of conductances begins at 1 + 3 k of a cell's 13.
    """
    mode = variant[0]
    given, outcome = mode != FIRST, inlined(_outcome(mode))

    def all_around(shape, march, a, s, x, b, share, out):
        nz, ny, nx = shape
        i, j = place(nx)
        if i >= nx or j >= ny:
            return
        left, right, wide = lower(i, nx), upper(i, nx), uint64(nx)
        z = uint32(uint32(cuda.blockIdx.y) * march)
        end = uint32(min(z + march, nz))
        while z < end:
            line = uint32(z * ny + j)
            row, mine = uint32(line * nx), uint64(line) * uint64(LATER) * wide
            c = uint32(row + i)
            size = constant(s, c)
            t = constant(x, c) if given else size
            gl, gu = constant(a, mine + uint64(left)), constant(a, mine + uint64(i))
            flow = size * t
            size = size + (abs(gl) + abs(gu))
            if given:
                flow = flow + gl * (t - constant(x, row + left)) + gu * (t - constant(x, row + right))
            for k in range(4):
                up, down = (upper(z, nz), lower(z, nz)) if k > 0 else (z, z)
                ahead, behind = (lower(j, ny), upper(j, ny)) if k == 1 else (upper(j, ny), lower(j, ny))
                if k == 2:
                    ahead, behind = j, j
                skip = uint64(uint32(1 + 3 * k)) * wide
                later, earlier = uint32(uint32(up * ny) + ahead), uint32(uint32(down * ny) + behind)
                own, theirs = mine + skip, uint64(earlier) * uint64(LATER) * wide + skip
                later, earlier = uint32(later * nx), uint32(earlier * nx)
                g0, g1 = constant(a, own + uint64(i)), constant(a, own + wide + uint64(i))
                g2 = constant(a, own + wide + wide + uint64(i))
                h0, h1 = constant(a, theirs + wide + wide + uint64(left)), constant(a, theirs + wide + uint64(i))
                h2 = constant(a, theirs + uint64(right))
                size = size + ((abs(g0) + abs(g1)) + (abs(g2) + abs(h0)) + (abs(h1) + abs(h2)))
                if given:
                    flow = flow + g0 * (t - constant(x, later + left)) + g1 * (t - constant(x, later + i))
                    flow = flow + g2 * (t - constant(x, later + right)) + h0 * (t - constant(x, earlier + left))
                    flow = flow + h1 * (t - constant(x, earlier + i)) + h2 * (t - constant(x, earlier + right))
            out[c] = outcome(t, b, c, flow, size, share)
            z = uint32(z + ONE)

    return all_around


def tiling(shape: tuple[int, ...], march: int) -> tuple[Triple, Triple, np.uint32]:
    """Grid, block, and the cells of a column that a thread goes through."""
    nz, ny, nx = shape
    width = min(WIDTH, 1 << (nx - 1).bit_length())
    height = THREADS // width
    tiles = -(-nx // width) * -(-ny // height)
    march = max(1, min(march, tiles * nz // MIN_BLOCKS), -(-nz // MAX_BLOCKS_ALONG_Z))
    return (tiles, -(-nz // march), 1), (width, height, 1), np.uint32(march)


def sweep(
    g: Conductances,
    s: CudaValues,
    x: CudaValues | None,
    b: CudaValues | None,
    share: np.float32 | None,
    out: CudaValues,
) -> None:
    """One pass over a level: out = A x where b is None, b - A x where share is 0, and else x relaxed by that share.

    g: (gx, gy, gz) of the finest level, or the 13 conductances a cell of another. `x` None is a field of zeros.
    """
    mode = APPLY if b is None else FIRST if x is None else RELAX if share else RESIDUAL
    faces = g if isinstance(g, tuple) else (g,)
    grid, block, march = tiling(s.shape, MARCH if len(faces) == 3 else 1)
    u, given = (x if x is not None else b), (b if b is not None else x)
    if u is None or given is None:
        raise TypeError("a sweep needs a field to start from")
    fields = (*(each.flat for each in faces), s.flat, u.flat, given.flat)
    args = (s.counts, march, *fields, np.float32(share or 0), out.flat)
    kinds = mode, s.kind, u.kind
    launch(build_seven if len(faces) == 3 else build_all, kinds, grid, block, args)
