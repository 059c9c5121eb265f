"""CPU sweep: all cores, rows vectorised.

         z slab of a thread            a row and its neighbours
        +------------------+                 z+1  y
        |  band of y rows  |  marches         |  /
        |  ==============  |  in z      x-1 - o - x+1
        |                  |                / |
        +------------------+               y  z-1

Every thread owns a slab of planes and goes through it in bands of rows, low enough that three planes of a band stay in
its L2 cache, so each cell comes from memory once: 8 bytes a cell update in float32, 16 in float64. A boundary row is a
row like any other: its missing neighbour is computed into a line of scratch, and the row loop never learns of it. The
result of a row leaves past the cache (non-temporal stores), which saves reading the target first: 8 bytes, not 12.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numba import njit, prange

from ..cpu_memory import (
    CACHE_LINE,
    elements_to_line,
    load,
    padded,
    pointer,
    prefetch,
    shifted,
    store,
    stream_lines,
    widest_vectors,
)
from ..cpu_threads import limited, threads_for
from ..fma import fma
from . import physics
from .terms import Drive, Terms
from .zone_sums import zone_sums

L2_BUDGET = 384 * 1024  # bytes of a band's three planes
STREAM_FROM = 12 * 2**20  # bytes of a field above which results bypass the cache

_jit = njit(cache=True, nogil=True, error_model="numpy")
second_difference = _jit(physics.second_difference)
face_differences = _jit(physics.face_differences)
ghost = _jit(physics.ghost)


class Rows(NamedTuple):
    """Pointers to a row and the rows beside it, of values or of zones (None where there are no zones)."""

    c: int
    ym: int
    yp: int
    zm: int
    zp: int


class Walls(NamedTuple):
    """Boundary faces. Values of this step, where each face starts in them, and J moved by a kelvin beyond the face."""

    a: np.ndarray
    b: np.ndarray
    offsets: np.ndarray
    per_cell: bool
    closed: np.ndarray
    weights: np.ndarray  # (6 n,)


@_jit
def _zone(zones, i):
    if zones is None:
        return 0
    return np.int64(load(zones, i))


@_jit
def _cell(i, im, ip, xm, xp, u, rates, pairs, z, zone_row, count, table, field, dt, gain):
    """The new value of cell i of a row; `im`, `ip` say whose zones lie beside it in x (its own at a wall)."""
    c = load(u.c, i)
    start = c
    if table is not None:
        start = fma(dt, load(table, _zone(zone_row, i)), start)
    if field is not None:
        start = fma(gain, load(field, i), start)
    ym, yp, zm, zp = load(u.ym, i), load(u.yp, i), load(u.zm, i), load(u.zp, i)
    if pairs is None:
        return second_difference(start, c, xm, xp, ym, yp, zm, zp, rates[0], rates[1], rates[2])
    x = _zone(z.c, i) * count
    y = x + count * count
    w = y + count * count
    rxm, rxp = load(pairs, x + _zone(z.c, im)), load(pairs, x + _zone(z.c, ip))
    rym, ryp = load(pairs, y + _zone(z.ym, i)), load(pairs, y + _zone(z.yp, i))
    rzm, rzp = load(pairs, w + _zone(z.zm, i)), load(pairs, w + _zone(z.zp, i))
    return face_differences(start, c, xm, xp, ym, yp, zm, zp, rxm, rxp, rym, ryp, rzm, rzp)


@_jit
def _row(out, n, low, high, wraps, u, rates, pairs, z, zone_row, count, table, field, dt, gain):
    """One row of n cells; `low`, `high` are the values beyond its ends, which wrap or lie beyond a wall."""
    widest_vectors()
    inset = 0 if pairs is None else 1  # values are padded by a line, zones are not
    for i in range(inset, n - inset):
        xm, xp = load(u.c, i - 1), load(u.c, i + 1)
        value = _cell(i, i - 1, i + 1, xm, xp, u, rates, pairs, z, zone_row, count, table, field, dt, gain)
        store(out, i, value)
    last = n - 1
    before, after = (last, 0) if wraps else (0, last)
    if n == 1:
        value = _cell(0, 0, 0, low, high, u, rates, pairs, z, zone_row, count, table, field, dt, gain)
        store(out, 0, value)
    else:
        right, left = load(u.c, 1), load(u.c, last - 1)
        value = _cell(0, before, 1, low, right, u, rates, pairs, z, zone_row, count, table, field, dt, gain)
        store(out, 0, value)
        value = _cell(last, last - 1, after, left, high, u, rates, pairs, z, zone_row, count, table, field, dt, gain)
        store(out, last, value)


@_jit
def _ghosts(out, n, row, zones, count, face, position, walls, flows):
    """The n ghosts beyond a run of boundary cells of one face; the heat they bring goes to the ledger."""
    offset = walls.offsets[face]
    for i in range(n):
        w = offset + (position + i if walls.per_cell else _zone(zones, i))
        out[i] = ghost(row[i], walls.a[w], walls.b[w])
    if walls.closed[face] == 0:
        flow = 0.0
        for i in range(n):
            weight = walls.weights[face * count + _zone(zones, i)]
            flow += weight * (np.float64(out[i]) - np.float64(row[i]))
        flows[face] += flow
    return out


@_jit
def _stream_row(out, line, n, per_line):
    """Copy a finished row to its place past the cache; what is not a whole cache line goes the ordinary way."""
    head = min(n, elements_to_line(out))
    lines = (n - head) // per_line
    for i in range(head):
        out[i] = line[i]
    stream_lines(shifted(out, head), shifted(line, head), lines)
    for i in range(head + lines * per_line, n):
        out[i] = line[i]


@_jit
def _tile(
    u,
    v,
    z0,
    z1,
    y0,
    y1,
    shape,
    wraps,
    line,
    per_line,
    walls,
    rates,
    pairs,
    zones,
    count,
    table,
    field,
    dt,
    gain,
    flows,
    stream,
):
    """All rows of planes z0..z1, rows y0..y1; `line` is scratch for six rows, `flows` (nz, 6) the band's ledger."""
    nz, ny, nx = shape
    plane = ny * nx
    spare = -(-nx // per_line) * per_line
    for z in range(z0, z1):
        flow = shifted(flows, 6 * z)
        for y in range(y0, y1):
            j = z * plane + y * nx
            c = shifted(u, j)
            zc = shifted(zones, j)
            # The neighbouring rows: in the array, around the period, or ghosts in scratch.
            jym = j - nx if y > 0 else (j + plane - nx if wraps[1] else j)
            jyp = j + nx if y < ny - 1 else (j + nx - plane if wraps[1] else j)
            jzm = j - plane if z > 0 else (j + (nz - 1) * plane if wraps[2] else j)
            jzp = j + plane if z < nz - 1 else (j - (nz - 1) * plane if wraps[2] else j)
            ym, yp, zm, zp = shifted(u, jym), shifted(u, jyp), shifted(u, jzm), shifted(u, jzp)
            if y == 0 and not wraps[1]:
                ym = _ghosts(line, nx, c, zc, count, 2, z * nx, walls, flow)
            if y == ny - 1 and not wraps[1]:
                yp = _ghosts(shifted(line, spare), nx, c, zc, count, 3, z * nx, walls, flow)
            if z == 0 and not wraps[2]:
                zm = _ghosts(shifted(line, 2 * spare), nx, c, zc, count, 4, y * nx, walls, flow)
            if z == nz - 1 and not wraps[2]:
                zp = _ghosts(shifted(line, 3 * spare), nx, c, zc, count, 5, y * nx, walls, flow)
            low, high = c[nx - 1], c[0]
            if not wraps[0]:
                ends = shifted(line, 5 * spare)
                last = nx - 1
                at = z * ny + y
                low = _ghosts(ends, 1, c, zc, count, 0, at, walls, flow)[0]
                high = _ghosts(ends, 1, shifted(c, last), shifted(zc, last), count, 1, at, walls, flow)[0]
            for i in range(0, nx, per_line):  # the row needed one plane later
                prefetch(c, 2 * plane + i)
            values = Rows(c, ym, yp, zm, zp)
            beside = Rows(zc, shifted(zones, jym), shifted(zones, jyp), shifted(zones, jzm), shifted(zones, jzp))
            here = shifted(field, j)
            out = shifted(v, j)
            if stream:
                done = shifted(line, 4 * spare)
                _row(
                    done,
                    nx,
                    low,
                    high,
                    wraps[0],
                    values,
                    rates,
                    pairs,
                    beside,
                    zc,
                    count,
                    table,
                    here,
                    dt,
                    gain,
                )
                _stream_row(out, done, nx, per_line)
            else:
                _row(
                    out,
                    nx,
                    low,
                    high,
                    wraps[0],
                    values,
                    rates,
                    pairs,
                    beside,
                    zc,
                    count,
                    table,
                    here,
                    dt,
                    gain,
                )


@njit(cache=True, nogil=True, parallel=True, error_model="numpy")
def _sweep(
    u, v, tiles, shape, wraps, lines, per_line, a, b, offsets, per_cell, closed, weights, rates, pairs, zones, count,
    table, field, dt, gains, flows, stream, k,
):  # fmt: skip
    """Time step number k of a batch, from u to v, the tiles shared out among the threads."""
    for t in prange(tiles.shape[0]):
        z0, z1, y0, y1, band = tiles[t]
        walls = Walls(
            pointer(a[min(k, a.shape[0] - 1)]),
            pointer(b[min(k, b.shape[0] - 1)]),
            pointer(offsets),
            per_cell,
            pointer(closed),
            pointer(weights),
        )
        heat = pointer(table)
        if table is not None:
            heat = pointer(table[min(k, table.shape[0] - 1)])
        _tile(
            pointer(u), pointer(v), z0, z1, y0, y1, shape, wraps, pointer(lines[t]), per_line, walls, rates,
            pointer(pairs), pointer(zones), count, heat, pointer(field), dt, gains[min(k, gains.size - 1)],
            pointer(flows[band]), stream,
        )  # fmt: skip


@_jit
def _advance(
    u, v, steps, tiles, shape, wraps, lines, per_line, a, b, offsets, per_cell, closed, weights, rates, pairs, zones,
    count, table, field, dt, gains, flows, stream,
):  # fmt: skip
    """`steps` time steps, ending in u for an even number and in v for an odd one."""
    for k in range(steps):
        _sweep(
            u, v, tiles, shape, wraps, lines, per_line, a, b, offsets, per_cell, closed, weights, rates, pairs, zones,
            count, table, field, dt, gains, flows, stream, k,
        )  # fmt: skip
        u, v = v, u


def tiling(shape: tuple[int, int, int], itemsize: int, threads: int) -> tuple[np.ndarray, int]:
    """Tiles (z0, z1, y0, y1, band), slab by slab, and the number of bands.

    A band is as many rows as let three planes of it stay in L2; grids of few planes are cut in y instead, at least
    eight ways. The bands do not depend on the number of threads, so neither do the sums of the energy ledger.
    """
    nz, ny, nx = shape
    height = max(4, L2_BUDGET // (3 * nx * itemsize))
    if nz < 8:
        height = min(height, -(-ny // 8))
    bands = -(-ny // height)
    slabs = min(nz, threads)
    edges_y = np.linspace(0, ny, bands + 1).astype(np.int64)
    edges_z = np.linspace(0, nz, slabs + 1).astype(np.int64)
    tiles = [(edges_z[s], edges_z[s + 1], edges_y[b], edges_y[b + 1], b) for s in range(slabs) for b in range(bands)]
    return np.array(tiles, dtype=np.int64), bands


class CpuSweep:
    """A field on the CPU and the means to advance it: see `Sweep` in `stencil/__init__.py`."""

    name = "cpu"
    device = "cpu"

    def __init__(self, terms: Terms, dtype: np.dtype) -> None:
        self.terms, self.dtype = terms, np.dtype(dtype)
        cells = int(np.prod(terms.shape))
        self._u, self._v = padded(cells, dtype), padded(cells, dtype)
        self._zones = None if terms.zones is None else np.ascontiguousarray(terms.zones).reshape(-1)
        self._threads = threads_for(cells)
        self._tiles, bands = tiling(terms.shape, self.dtype.itemsize, self._threads)
        self._per_line = CACHE_LINE // self.dtype.itemsize
        row = -(-terms.shape[2] // self._per_line) * self._per_line
        width = 5 * row + self._per_line
        self._lines = padded(len(self._tiles) * width, dtype).reshape(-1, width)
        self._flows = np.zeros((bands, terms.shape[0], 6))
        self._stream = cells * self.dtype.itemsize > STREAM_FROM

    def put(self, planes: Iterable[np.ndarray]) -> None:
        """Set the field from its planes (ny, nx), z upwards."""
        for target, plane in zip(self.field(), planes, strict=True):
            target[:] = plane

    def field(self) -> np.ndarray:
        """The field itself, (nz, ny, nx), to look at until the next `advance`."""
        return self._u.reshape(self.terms.shape)

    def plane(self, axis: int, index: int) -> np.ndarray:
        """A copy of one plane; axis 0, 1, 2 is z, y, x of the array."""
        return self.field().take(index, axis)

    def cells(self, indices: np.ndarray) -> np.ndarray:
        """The values of some cells, by flat index; any shape."""
        return self._u[indices]

    def zone_sums(self) -> np.ndarray:
        """(n,) sums of the field over each zone, float64."""
        return zone_sums(self.field(), self.terms.zones, self.terms.zone_count)

    def is_finite(self) -> bool:
        """Whether every value is a finite number."""
        return bool(np.isfinite(zone_sums(self.field(), None, 1)[0]))

    def heat_entered(self) -> np.ndarray:
        """(6,) heat that has entered through each of FACES since the start, J."""
        return self._flows.sum(axis=(0, 1))

    def advance(self, dt: float, steps: int, drive: Drive) -> None:
        """Advance `steps` steps of `dt` seconds."""
        terms, kind = self.terms, self.dtype
        rates = (dt * terms.exchange).astype(kind)
        weights = (dt * terms.self_exchange()).astype(kind).astype(np.float64) * terms.capacity
        with limited(self._threads):
            _advance(
                self._u,
                self._v,
                steps,
                self._tiles,
                terms.shape,
                terms.periodic,
                self._lines,
                self._per_line,
                drive.wall_a.astype(kind),
                drive.wall_b.astype(kind),
                terms.wall_offsets,
                terms.wall_per_cell,
                np.array(terms.closed, np.uint8),
                weights.reshape(-1),
                tuple(rates.reshape(3, -1)[:, 0]),
                rates.reshape(-1) if rates.ndim == 3 else None,
                self._zones,
                terms.zone_count,
                None if drive.heat_table is None else drive.heat_table.astype(kind),
                None if drive.heat_field is None else drive.heat_field.astype(kind, copy=False).reshape(-1),
                kind.type(dt),
                (dt * drive.heat_scale).astype(kind),
                self._flows,
                self._stream,
            )
        if steps % 2:
            self._u, self._v = self._v, self._u
