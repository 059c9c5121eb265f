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
from numba import prange

from ..cpu_jit import jit, parallel_jit
from ..cpu_memory import (
    CACHE_LINE,
    elements_to_line,
    load,
    padded,
    pointer,
    prefetch,
    row_pointer,
    shifted,
    store,
    stream_lines,
    widest_vectors,
)
from ..cpu_threads import limited, threads_for
from ..fma import fma
from . import physics
from .stretches import MIXED, STRETCH, zones_of_stretches
from .terms import Drive, Terms
from .zone_sums import zone_sums

L2_BUDGET = 384 * 1024  # bytes of a band's three planes
STREAM_FROM = 12 * 2**20  # bytes of a field above which results bypass the cache

second_difference = jit(physics.second_difference)
face_differences = jit(physics.face_differences)
ghost = jit(physics.ghost)


class Rows(NamedTuple):
    """Pointers to a row and the rows beside it, of values or of zones (None where there is a single zone)."""

    c: int
    ym: int
    yp: int
    zm: int
    zp: int


class Medium(NamedTuple):
    """Exchange: rates `rx, ry, rz` a step of a uniform material, or `pairs` flat (3, n, n) by the zones of two
    neighbours; `calm` is the zone of each stretch of each row."""

    rx: float
    ry: float
    rz: float
    pairs: np.ndarray | None
    zones: np.ndarray | None
    calm: np.ndarray | None
    count: int  # of zones


class Heat(NamedTuple):
    """Sources: `table` by zone times `dt`, and `field` by cell times `gain`; arrays, or pointers in one step."""

    table: np.ndarray | None
    dt: float
    field: np.ndarray | None
    gain: float


class Walls(NamedTuple):
    """Boundary faces: values a and b (arrays, or pointers in one step), where each face starts in them, whether it is
    closed, and the heat moved by a kelvin beyond it, (6 n) J."""

    a: np.ndarray
    b: np.ndarray
    offsets: np.ndarray
    per_cell: bool
    closed: np.ndarray
    weights: np.ndarray


class Layout(NamedTuple):
    """The grid and how it is cut: tiles (z0, z1, y0, y1, band), scratch lines for each, elements in a cache line, and
    whether results bypass the cache."""

    nz: int
    ny: int
    nx: int
    wrap_x: bool  # Numba passes no tuples within tuples to threads
    wrap_y: bool
    wrap_z: bool
    tiles: np.ndarray
    lines: np.ndarray
    per_line: int
    stream: bool


@jit
def _zone(zones, i):
    if zones is None:
        return 0
    return np.int64(load(zones, i))


@jit
def _cell(i, im, ip, xm, xp, u, rates, pairs, z, count, table, field, dt, gain):
    """The new value of cell i of a row; `im`, `ip` say whose zones lie beside it in x (its own at a wall)."""
    c = load(u.c, i)
    start = c
    if table is not None:
        start = fma(dt, load(table, _zone(z.c, i)), start)
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


@jit
def _calm_cell(i, u, rates, pairs, zone, count, table, field, dt, gain):
    """`_cell` within a row, where it and its neighbours are all of one zone: the same bits without look-ups."""
    c = load(u.c, i)
    start = c
    if table is not None:
        start = fma(dt, load(table, zone), start)
    if field is not None:
        start = fma(gain, load(field, i), start)
    xm, xp = load(u.c, i - 1), load(u.c, i + 1)
    ym, yp, zm, zp = load(u.ym, i), load(u.yp, i), load(u.zm, i), load(u.zp, i)
    if pairs is None:
        return second_difference(start, c, xm, xp, ym, yp, zm, zp, rates[0], rates[1], rates[2])
    own = zone * (count + 1)
    rx, ry, rz = load(pairs, own), load(pairs, own + count * count), load(pairs, own + 2 * count * count)
    return face_differences(start, c, xm, xp, ym, yp, zm, zp, rx, rx, ry, ry, rz, rz)


@jit
def _row(out, n, low, high, wraps, u, z, m, calm, heat):
    """One row of n cells; `low`, `high` are the values beyond its ends, which wrap or lie beyond a wall."""
    widest_vectors()
    rates, pairs, count = (m.rx, m.ry, m.rz), m.pairs, m.count
    table, dt, field, gain = heat.table, heat.dt, heat.field, heat.gain
    for stretch in range(_stretches(calm, n)):
        first, end, zone = _stretch(calm, stretch, n)
        if zone != MIXED:
            for i in range(first, end):
                store(out, i, _calm_cell(i, u, rates, pairs, zone, count, table, field, dt, gain))
        else:
            for i in range(first, end):
                xm, xp = load(u.c, i - 1), load(u.c, i + 1)
                value = _cell(i, i - 1, i + 1, xm, xp, u, rates, pairs, z, count, table, field, dt, gain)
                store(out, i, value)
    last = n - 1
    before, after = (last, 0) if wraps else (0, last)
    right = load(u.c, 1) if n > 1 else high
    value = _cell(0, before, min(1, last), low, right, u, rates, pairs, z, count, table, field, dt, gain)
    store(out, 0, value)
    if n > 1:
        left = load(u.c, last - 1)
        value = _cell(last, last - 1, after, left, high, u, rates, pairs, z, count, table, field, dt, gain)
        store(out, last, value)


@jit
def _stretches(calm, n):
    """Number of stretches to go through in a row."""
    if calm is None:
        return 1
    return -(-n // STRETCH)


@jit
def _stretch(calm, stretch, n):
    """First cell, end and zone of a stretch. The row's two ends are put right later; where zones are looked up they
    are left out, since zones have no padding."""
    if calm is None:
        return 0, n, 0
    return max(1, stretch * STRETCH), min(n - 1, (stretch + 1) * STRETCH), np.int64(load(calm, stretch))


@jit
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


@jit
def _stream_row(out, line, n, per_line):
    """Copy a finished row to its place past the cache; what is not a whole cache line goes the ordinary way."""
    head = min(n, elements_to_line(out))
    lines = (n - head) // per_line
    for i in range(head):
        out[i] = line[i]
    stream_lines(shifted(out, head), shifted(line, head), lines)
    for i in range(head + lines * per_line, n):
        out[i] = line[i]


@jit
def _tile(u, v, tile, layout, line, m, zones, calm, heat, walls, flows):
    """All rows of planes tile[0]..tile[1], rows tile[2]..tile[3]; `line` is scratch, `flows` (nz, 6) the ledger."""
    nz, ny, nx = layout.nz, layout.ny, layout.nx
    wraps = layout.wrap_x, layout.wrap_y, layout.wrap_z
    plane = ny * nx
    spare = -(-nx // layout.per_line) * layout.per_line
    count = m.count
    for z in range(tile[0], tile[1]):
        flow = shifted(flows, 6 * z)
        for y in range(tile[2], tile[3]):
            j = z * plane + y * nx
            c, zc = shifted(u, j), shifted(zones, j)
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
                ends, last, at = shifted(line, 5 * spare), nx - 1, z * ny + y
                low = _ghosts(ends, 1, c, zc, count, 0, at, walls, flow)[0]
                high = _ghosts(ends, 1, shifted(c, last), shifted(zc, last), count, 1, at, walls, flow)[0]
            for i in range(0, nx, layout.per_line):  # the row needed one plane later
                prefetch(c, 2 * plane + i)
            values = Rows(c, ym, yp, zm, zp)
            beside = Rows(zc, shifted(zones, jym), shifted(zones, jyp), shifted(zones, jzm), shifted(zones, jzp))
            here = Heat(heat.table, heat.dt, shifted(heat.field, j), heat.gain)
            stretches = shifted(calm, (z * ny + y) * -(-nx // STRETCH))
            out = shifted(v, j)
            done = shifted(line, 4 * spare) if layout.stream else out
            _row(done, nx, low, high, wraps[0], values, beside, m, stretches, here)
            if layout.stream:
                _stream_row(out, done, nx, layout.per_line)


@parallel_jit
def _sweep(u, v, k, layout, m, heat, walls, flows):
    """Time step number k of a batch, from u to v, the tiles shared out among the threads."""
    for t in prange(layout.tiles.shape[0]):
        tile = layout.tiles[t]
        now = Walls(
            row_pointer(walls.a, k),
            row_pointer(walls.b, k),
            pointer(walls.offsets),
            walls.per_cell,
            pointer(walls.closed),
            pointer(walls.weights),
        )
        gain = heat.gain[min(k, heat.gain.size - 1)]
        sources = Heat(row_pointer(heat.table, k), heat.dt, pointer(heat.field), gain)
        medium = Medium(m.rx, m.ry, m.rz, pointer(m.pairs), pointer(m.zones), pointer(m.calm), m.count)
        line, flow = pointer(layout.lines[t]), pointer(flows[tile[4]])
        _tile(pointer(u), pointer(v), tile, layout, line, medium, medium.zones, medium.calm, sources, now, flow)


@jit
def _advance(u, v, steps, layout, medium, heat, walls, flows):
    """`steps` time steps, ending in u for an even number and in v for an odd one."""
    for k in range(steps):
        _sweep(u, v, k, layout, medium, heat, walls, flows)
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
        self._calm = zones_of_stretches(terms)
        self._threads = threads_for(cells)
        tiles, bands = tiling(terms.shape, self.dtype.itemsize, self._threads)
        per_line = CACHE_LINE // self.dtype.itemsize
        scratch = 5 * (-(-terms.shape[2] // per_line) * per_line) + per_line
        lines = padded(len(tiles) * scratch, dtype).reshape(-1, scratch)
        stream = cells * self.dtype.itemsize > STREAM_FROM
        self._layout = Layout(*terms.shape, *terms.periodic, tiles, lines, per_line, stream)
        self._flows = np.zeros((bands, terms.shape[0], 6))

    def put(self, planes: Iterable[np.ndarray]) -> None:
        """Set the field from its planes (ny, nx), z upwards."""
        for target, plane in zip(self.field(), planes, strict=True):
            target[:] = plane

    def field(self) -> np.ndarray:
        """The field itself, (nz, ny, nx), to look at until the next `advance`."""
        return self._u.reshape(self.terms.shape)

    def capture(self) -> None:
        """None: a copy of the field would be on the host as well."""

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

    def was_finite(self) -> bool:
        """`is_finite`: the host has nothing to wait for."""
        return self.is_finite()

    def heat_entered(self) -> np.ndarray:
        """(6,) heat that has entered through each of FACES since the start, J."""
        return self._flows.sum(axis=(0, 1))

    def advance(self, dt: float, steps: int, drive: Drive) -> None:
        """Advance `steps` steps of `dt` seconds."""
        with limited(self._threads):
            _advance(
                self._u,
                self._v,
                steps,
                self._layout,
                self._medium(dt),
                self._heat(dt, drive),
                self._walls(dt, drive),
                self._flows,
            )
        if steps % 2:
            self._u, self._v = self._v, self._u

    def _medium(self, dt: float) -> Medium:
        rates = (dt * self.terms.exchange).astype(self.dtype)
        rx, ry, rz = rates.reshape(3, -1)[:, 0]
        pairs = rates.reshape(-1) if rates.ndim == 3 else None
        return Medium(rx, ry, rz, pairs, self._zones, self._calm, self.terms.zone_count)

    def _heat(self, dt: float, drive: Drive) -> Heat:
        kind = self.dtype
        table = None if drive.heat_table is None else drive.heat_table.astype(kind)
        field = None if drive.heat_field is None else drive.heat_field.astype(kind, copy=False).reshape(-1)
        return Heat(table, kind.type(dt), field, (dt * drive.heat_scale).astype(kind))

    def _walls(self, dt: float, drive: Drive) -> Walls:
        terms, kind = self.terms, self.dtype
        weights = (dt * terms.self_exchange()).astype(kind).astype(np.float64) * terms.capacity
        a, b = drive.wall_a.astype(kind), drive.wall_b.astype(kind)
        closed = np.array(terms.closed, np.uint8)
        return Walls(a, b, terms.wall_offsets, terms.wall_per_cell, closed, weights.reshape(-1))
