"""CUDA: passes over a level and transfers between levels; what they compute for a cell is in `cell` and `galerkin`.

    seven points: a thread has a column of cells and marches along z       27 points: a thread has a cell

        z+1   t above       loaded now, the next t                         13 conductances of its own, and of the 13
        z     t, in a register                                             earlier neighbours the one that leads here
        z-1   t below, gz below: in registers

Every index wraps, and at a boundary face the conductance that leads round the grid is zero. A tile of 64 x 4 columns
shares its neighbours through the first cache. Bytes a cell from memory, in float32: 28 (seven points) and 68.

Transfers and Galerkin products have a thread a cell. About the axis of a coarsening the fine grid is (outer, n, inner).
Restriction is gathered, so no two threads add to one cell. The axis is an argument of the Galerkin product, so two
kernels serve all grids; set-up is computed once an operator, in some milliseconds, so its indices are plain signed
numbers. All cells have the bits of the CPU.
"""

from __future__ import annotations

import numpy as np
from numba import float32, int64, uint32, uint64

from heatsim_kernels.device.cuda.api import SIMULATED, cuda, inlined
from heatsim_kernels.device.cuda.arrays import Array
from heatsim_kernels.device.cuda.launch import Triple
from heatsim_kernels.device.cuda.vector_access import constant
from heatsim_kernels.field.cuda.block_reduction import THREADS
from heatsim_kernels.solver import cell
from heatsim_kernels.solver import galerkin as cells
from heatsim_kernels.solver.cuda.values import CudaValues, launch, room
from heatsim_kernels.solver.galerkin import CellSample
from heatsim_kernels.solver.hierarchy import LATER, Coarsening, Shape

CudaConductances = tuple[CudaValues, CudaValues, CudaValues] | CudaValues  # see `hierarchy.GridLevel`
APPLY, FIRST, RELAX, RESIDUAL = "A x", "relaxed from zero", "relaxed", "b - A x"
WIDTH, TILE = (4, 8) if SIMULATED else (64, 256)  # columns of a tile, along x and in all
MARCH = 3 if SIMULATED else 16  # cells of a column that a thread goes through
MIN_BLOCKS = 1 if SIMULATED else 1024  # blocks: a march is shorter where there would be fewer
MAX_BLOCKS_ALONG_Z = 65535  # blocks
ZERO, ONE, TWO = np.uint32(0), np.uint32(1), np.uint32(2)

seven_diagonal, seven_flow = inlined(cell.seven_diagonal), inlined(cell.seven_flow)
added_flow, added_size = inlined(cell.added_flow), inlined(cell.added_size)
relaxed, relaxed_from_zero, residual = inlined(cell.relaxed), inlined(cell.relaxed_from_zero), inlined(cell.residual)
with_lower, with_upper, mean = inlined(cell.with_lower), inlined(cell.with_upper), inlined(cell.mean)
OF_FACES, OF_ALL = cells.build(inlined, inlined, constant)


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
        return lambda t, b, i, flow, diagonal, share: relaxed_from_zero(constant(b, i), diagonal, share)
    if mode == RESIDUAL:
        return lambda t, b, i, flow, diagonal, share: residual(constant(b, i), flow)
    return lambda t, b, i, flow, diagonal, share: relaxed(t, constant(b, i), flow, diagonal, share)


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
            diagonal, flow = seven_diagonal(outside, xl, xu, yl, yu, zl, zu), t
            if given:
                t_above, t_left, t_right = constant(x, above), constant(x, base + left), constant(x, base + right)
                t_front, t_back = constant(x, base + front), constant(x, base + back)
                flow = seven_flow(
                    t, outside, xl, t_left, xu, t_right, yl, t_front, yu, t_back, zl, t_below, zu, t_above
                )
            out[c] = outcome(t, b, c, flow, diagonal, share)
            if given:
                t_below, t = t, t_above
            zl, base, z = zu, uint32(base + plane), uint32(z + ONE)

    return seven


@inlined
def row_beside(z, j, nz, ny, k, later):
    """The row that row k of conductances leads to, (z, y) one of (0, 1), (1, -1), (1, 0), (1, 1) further; if not later,
    its mirror image."""
    plane = (upper(z, nz) if later else lower(z, nz)) if k > 0 else z
    row = j if k == 2 else (lower(j, ny) if (k == 1) == later else upper(j, ny))
    return uint32(uint32(plane * ny) + row)


def build_all(variant):
    """The kernel `(shape, march, a, s, x, b, share, out)` of a mode; D = s + sum of |a| bounds A.

    The 12 later neighbours that are not in the row come as four rows of three, and the earlier 12 as their mirror
    images, nearest last, as on the CPU: row k of conductances begins at 1 + 3 k of a cell's 13.
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
            flow = size * t
            gl, gu = constant(a, mine + uint64(left)), constant(a, mine + uint64(i))
            size = added_size(added_size(size, gl), gu)
            if given:
                flow = added_flow(flow, gl, t, constant(x, row + left))
                flow = added_flow(flow, gu, t, constant(x, row + right))
            for turn in range(8):
                later = turn > 3
                k = uint32(turn - 4) if later else uint32(3 - turn)
                there = row_beside(z, j, nz, ny, k, later)
                # Of an earlier row the conductances lie there, and seen from there dx is -dx.
                own = (mine if later else uint64(there) * uint64(LATER) * wide) + uint64(uint32(1 + 3 * k)) * wide
                g0 = constant(a, own + (uint64(i) if later else wide + wide + uint64(left)))
                g1 = constant(a, own + wide + uint64(i))
                g2 = constant(a, own + (wide + wide + uint64(i) if later else uint64(right)))
                size = added_size(added_size(added_size(size, g0), g1), g2)
                if given:
                    there = uint32(there * nx)
                    flow = added_flow(flow, g0, t, constant(x, there + left))
                    flow = added_flow(flow, g1, t, constant(x, there + i))
                    flow = added_flow(flow, g2, t, constant(x, there + right))
            out[c] = outcome(t, b, c, flow, size, share)
            z = uint32(z + ONE)

    return all_around


def tiling(shape: tuple[int, ...], march: int) -> tuple[Triple, Triple, np.uint32]:
    """Grid, block, and the cells of a column that a thread goes through."""
    nz, ny, nx = shape
    width = min(WIDTH, 1 << (nx - 1).bit_length())
    height = TILE // width
    tiles = -(-nx // width) * -(-ny // height)
    march = max(1, min(march, tiles * nz // MIN_BLOCKS), -(-nz // MAX_BLOCKS_ALONG_Z))
    return (tiles, -(-nz // march), 1), (width, height, 1), np.uint32(march)


def sweep(
    g: CudaConductances,
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
    dtype_names = mode, s.dtype_name, u.dtype_name
    launch(build_seven if len(faces) == 3 else build_all, dtype_names, grid, block, args)


@inlined
def split_index(i, n, inner):
    """Where item i of an array (outer, n, inner) is along each axis."""
    line = uint32(i // inner)
    return uint32(line // uint32(n)), uint32(line % uint32(n)), uint32(i % inner)


def build_restrict(variant):
    """The kernel `(n, inner, nf, r, w, out)`: r (outer, n, inner) to out (outer, n - nf, inner); w (outer, nf, inner)
    are the weights."""

    def restrict(n, inner, nf, r, w, out):
        i = uint32(uint32(cuda.blockIdx.x) * uint32(THREADS) + uint32(cuda.threadIdx.x))
        if i >= uint32(out.size):
            return
        nc = uint32(n - nf)
        o, c, column = split_index(i, nc, inner)
        fine, between = uint32(o * n), uint32(o * nf)
        value = constant(r, uint32(uint32(fine + min(uint32(TWO * c), uint32(n - ONE))) * inner + column))
        j = uint32(c - ONE) if c > ZERO else uint32(nc - ONE)
        if j < nf:
            below = constant(r, uint32(uint32(fine + uint32(TWO * j) + ONE) * inner + column))
            value = with_lower(value, below, constant(w, uint32(uint32(between + j) * inner + column)))
        if c < nf:
            above = constant(r, uint32(uint32(fine + uint32(TWO * c) + ONE) * inner + column))
            value = with_upper(value, above, constant(w, uint32(uint32(between + c) * inner + column)))
        out[i] = value

    return restrict


def build_interpolate(add):
    """The kernel `(n, inner, nf, c, w, out)`: c (outer, n - nf, inner) to out (outer, n, inner), or added to it."""

    def interpolate(n, inner, nf, c, w, out):
        i = uint32(uint32(cuda.blockIdx.x) * uint32(THREADS) + uint32(cuda.threadIdx.x))
        if i >= uint32(out.size):
            return
        o, k, column = split_index(i, n, inner)
        nc = uint32(n - nf)
        coarse, j = uint32(o * nc), uint32(k // TWO)
        if k % TWO == ONE and j < nf:
            after = uint32(j + ONE) if uint32(j + ONE) < nc else ZERO
            lower_value = constant(c, uint32(uint32(coarse + j) * inner + column))
            upper_value = constant(c, uint32(uint32(coarse + after) * inner + column))
            weight = constant(w, uint32(uint32(uint32(o * nf) + j) * inner + column))
            value = mean(lower_value, upper_value, weight)
        else:
            value = constant(c, uint32(uint32(coarse + uint32(k + ONE) // TWO) * inner + column))
        out[i] = out[i] + value if add else value

    return interpolate


def _layout(coarsening: Coarsening) -> tuple[np.uint32, np.uint32, np.uint32]:
    """n, inner and the number of F cells of a line."""
    nz, ny, nx = coarsening.fine
    n, inner = ((nz, ny * nx), (ny, nx), (nx, 1))[coarsening.axis]
    return np.uint32(n), np.uint32(inner), np.uint32(coarsening.between)


def restrict(coarsening: Coarsening, weights: CudaValues, fine: CudaValues, coarse: CudaValues) -> None:
    """coarse = transpose of the interpolation times fine."""
    args = (*_layout(coarsening), fine.flat, weights.flat, coarse.flat)
    launch(build_restrict, None, (-(-coarse.size // THREADS), 1, 1), (THREADS, 1, 1), args)


def interpolate(coarsening: Coarsening, weights: CudaValues, coarse: CudaValues, add: bool, fine: CudaValues) -> None:
    """fine = interpolation of coarse, or with `add` what it was plus that."""
    args = (*_layout(coarsening), coarse.flat, weights.flat, fine.flat)
    launch(build_interpolate, add, (-(-fine.size // THREADS), 1, 1), (THREADS, 1, 1), args)


def build_sides(faces):
    """The kernel `(shape, axis, of, start, stride, lower_share, g, out)`: of every `stride`-th cell from `start` on
    the conductance to both sides along the axis, or the lower side's share in it; out (of)."""
    measure = (OF_FACES if faces else OF_ALL).sides

    def sides(shape, axis, of, start, stride, lower_share, g, out):
        k = int64(cuda.blockIdx.x) * THREADS + int64(cuda.threadIdx.x)
        if k >= out.size:
            return
        z, y, x = k // (of[1] * of[2]), k // of[2] % of[1], k % of[2]
        here = start[0] + stride[0] * z, start[1] + stride[1] * y, start[2] + stride[2] * x
        lower_side, total = measure(g, shape, axis, here)
        if lower_share:
            out[k] = lower_side / total if total > 0 else float32(0.5)
        else:
            out[k] = total

    return sides


def build_galerkin(faces):
    """The kernel `(shape, axis, coarse, of, g, w, out)`: out (coarse, 13 a row) of a grid coarser along an axis; the
    weights are (of)."""
    make = (OF_FACES if faces else OF_ALL).coarse_cell

    def galerkin(shape, axis, coarse, of, g, w, out):
        k = int64(cuda.blockIdx.x) * THREADS + int64(cuda.threadIdx.x)
        if k < coarse[0] * coarse[1] * coarse[2]:
            here = k // (coarse[1] * coarse[2]), k // coarse[2] % coarse[1], k % coarse[2]
            make(g, shape, axis, coarse, of, w, out, here)

    return galerkin


def _numbers(values: Shape) -> tuple[np.int64, ...]:
    return tuple(map(np.int64, values))


def _flats(g: CudaConductances) -> tuple[Array, ...]:
    return tuple(each.flat for each in g) if isinstance(g, tuple) else (g.flat,)


def _sampled(
    g: CudaConductances, shape: Shape, axis: int, sample: CellSample, lower_share: bool, out: CudaValues
) -> None:
    of, start, stride = map(_numbers, sample)
    args = (_numbers(shape), np.int64(axis), of, start, stride, np.int64(lower_share), _flats(g), out.flat)
    launch(build_sides, isinstance(g, tuple), (-(-out.size // THREADS), 1, 1), (THREADS, 1, 1), args)


def strong_cells(g: CudaConductances, shape: Shape, share: float) -> np.ndarray:
    """`galerkin.strong_cells` of a level."""

    def conductance(axis: int, sample: CellSample) -> np.ndarray:
        out = room(sample.shape, np.float32)
        _sampled(g, shape, axis, sample, False, out)
        return out.host()

    return cells.strong_cells(shape, share, conductance)


def interpolation(coarsening: Coarsening, g: CudaConductances, weights: CudaValues) -> None:
    """Fill the weights of a coarsening from the conductances of its fine grid."""
    _sampled(g, coarsening.fine, coarsening.axis, cells.cells_between(coarsening), True, weights)


def galerkin(coarsening: Coarsening, g: CudaConductances, weights: CudaValues, out: CudaValues) -> None:
    """Fill the conductances `out` of the coarse grid, zero before."""
    shape, coarse, of = map(_numbers, (coarsening.fine, coarsening.coarse, coarsening.weights))
    args = (shape, np.int64(coarsening.axis), coarse, of, _flats(g), weights.flat, out.flat)
    count = out.size // LATER
    launch(build_galerkin, isinstance(g, tuple), (-(-count // THREADS), 1, 1), (THREADS, 1, 1), args)
