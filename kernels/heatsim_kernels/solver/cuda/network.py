"""CUDA: networks, under the names of `network.NetworkKernels`.

Parts are found by joining both cells of each face that conducts, all at once: the greater of two roots is hung under
the lesser by compare-and-swap, so that the last root of a part is its least cell, whatever the order (Jaiganesh and
Burtscher, HPDC 2018). Trees grow by their distance from the roots, a launch for each; the launch reads on the GPU how
many cells the last one has found, and the host looks once in a while whether there are more. Heat is gathered along
them in the other direction, so each cell adds in a fixed order: all results have the same bits from run to run.
"""

from __future__ import annotations

from itertools import accumulate
from math import prod

import numpy as np
from numba import float32, float64, int32, int64, uint8

from heatsim_kernels.device.cuda.api import SIMULATED, cuda, inlined
from heatsim_kernels.device.cuda.arrays import Array, empty, on_device
from heatsim_kernels.field.cuda.block_reduction import block_sum
from heatsim_kernels.solver import network
from heatsim_kernels.solver.cuda.gradient_passes import store_of_block, sums_of_blocks
from heatsim_kernels.solver.cuda.operations import field, total
from heatsim_kernels.solver.cuda.values import CudaValues, first, over_all, room, stride
from heatsim_kernels.solver.network import APART, ROOT, Trees

Faces = tuple[CudaValues, CudaValues, CudaValues]
LEVELS_AT_ONCE = 4 if SIMULATED else 64  # that are launched before the host looks whether there are more
UNREACHED = -1  # in place of the distance from the roots

beyond, conductance, warmer_by = inlined(network.beyond), inlined(network.conductance), inlined(network.warmer_by)


def _shape(values: CudaValues) -> tuple[np.int64, ...]:
    return tuple(map(np.int64, values.shape))


def _flat(faces: Faces) -> tuple[Array, Array, Array]:
    gx, gy, gz = faces
    return gx.flat, gy.flat, gz.flat


@inlined
def where(i, shape):
    """x, y and z of cell i."""
    rest = i // shape[2]
    return i % shape[2], rest % shape[1], rest // shape[1]


def build_connect(axis):
    """The kernel `(shape, periodic, labels, between, g)`: the conductances of the faces along an axis; between: (n, n)
    flat."""
    way = 2 * axis + 1

    def connect_(shape, periodic, count, labels, between, g):
        i, step = int64(first()), int64(stride())
        while i < g.size:
            x, y, z = where(i, shape)
            other = beyond(i, way, x, y, z, shape[0], shape[1], shape[2])
            if other > i or periodic:
                g[i] = between[int64(labels[i]) * count + int64(labels[other])]
            else:
                g[i] = float32(0.0)
            i += step

    return connect_


def connect(labels: CudaValues, between: np.ndarray, periodic: tuple[bool, bool, bool]) -> Faces:
    """The faces of cells that have a label each."""
    faces = room(labels.shape, np.float32), room(labels.shape, np.float32), room(labels.shape, np.float32)
    count = np.int64(between.shape[1])
    for axis, g in enumerate(faces):
        given = _shape(labels), np.int64(periodic[axis]), count, labels.flat, on_device(between[axis].reshape(-1))
        over_all(build_connect, axis, labels.size, (*given, g.flat))
    return faces


@inlined
def root_of(parts, i):
    """The root above cell i, on the way to which every cell is hung under the next but one."""
    above = parts[i]
    while above != i:
        further = parts[above]
        if further != above:
            parts[i] = further
        i = above
        above = further
    return i


def build_number(variant):
    """The kernel `(parts)`: each cell is a part."""

    def number(parts):
        i, step = int64(first()), int64(stride())
        while i < parts.size:
            parts[i] = int32(i)
            i += step

    return number


def build_join(axis):
    """The kernel `(shape, g, parts)`: cells that a face along an axis connects are of one part."""
    way = 2 * axis + 1

    def join(shape, g, parts):
        i, step = int64(first()), int64(stride())
        while i < g.size:
            if g[i] > 0:
                x, y, z = where(i, shape)
                other = beyond(i, way, x, y, z, shape[0], shape[1], shape[2])
                a, b = root_of(parts, int32(i)), root_of(parts, int32(other))
                while a != b:
                    lesser, greater = min(a, b), max(a, b)
                    found = cuda.atomic.cas(parts, greater, greater, lesser)
                    a = lesser
                    b = lesser if found == greater else found
            i += step

    return join


def build_settle(variant):
    """The kernel `(parts)`: each cell has its root."""

    def settle(parts):
        i, step = int64(first()), int64(stride())
        while i < parts.size:
            above = parts[i]
            while parts[above] != above:
                above = parts[above]
            parts[i] = above
            i += step

    return settle


def find_parts(faces: Faces) -> CudaValues:
    """For each cell the least of those that it hangs together with."""
    parts = room(faces[0].shape, np.int32)
    over_all(build_number, None, parts.size, (parts.flat,))
    for axis, g in enumerate(faces):
        over_all(build_join, axis, parts.size, (_shape(parts), g.flat, parts.flat))
    over_all(build_settle, None, parts.size, (parts.flat,))
    return parts


def build_roots(variant):
    """The kernel `(parts, chosen, out)`: out = whether a cell is the root of its part, and chosen."""

    def roots_(parts, chosen, out):
        i, step = int64(first()), int64(stride())
        while i < out.size:
            out[i] = uint8(1) if parts[i] == i and chosen[i] != 0 else uint8(0)
            i += step

    return roots_


def roots(parts: CudaValues, chosen: CudaValues) -> np.ndarray:
    """The least cells of all parts that are chosen."""
    marks = room(parts.shape, np.uint8)
    over_all(build_roots, None, parts.size, (parts.flat, chosen.flat, marks.flat))
    return np.flatnonzero(marks.host())


def among(parts: CudaValues, chosen: np.ndarray) -> CudaValues:
    """Whether the part of each cell is one of these."""
    marks, found = field(parts.shape, np.uint8), room(parts.shape, np.uint8)
    place(marks, chosen, np.ones(chosen.size, np.uint8))
    over_all(build_pick, (parts.dtype_name, marks.dtype_name), parts.size, (parts.flat, marks.flat, found.flat))
    return found


def count(chosen: CudaValues) -> int:
    """How many cells are chosen."""
    return round(total(chosen))


def build_pick(variant):
    """The kernel `(cells, values, out)`: out = values[cells]."""

    def pick_(cells, values, out):
        k, step = int64(first()), int64(stride())
        while k < cells.size:
            out[k] = values[cells[k]]
            k += step

    return pick_


def pick(values: CudaValues, cells: np.ndarray) -> np.ndarray:
    """The values of some cells."""
    if not cells.size:
        return np.zeros(0, values.dtype)
    found = empty(cells.size, values.dtype)
    given = on_device(cells.astype(np.int64)), values.flat, found
    over_all(build_pick, ("int64", values.dtype_name), cells.size, given)
    return found.host()


def build_place(variant):
    """The kernel `(cells, values, out)`: out[cells] += values."""

    def place_(cells, values, out):
        k, step = int64(first()), int64(stride())
        while k < cells.size:
            out[cells[k]] += values[k]
            k += step

    return place_


def place(field: CudaValues, cells: np.ndarray, values: np.ndarray) -> None:
    """Add values to some cells of a field."""
    if cells.size:
        given = on_device(cells.astype(np.int64)), on_device(values.astype(field.dtype))
        over_all(build_place, field.dtype_name, cells.size, (*given, field.flat))


def build_fill_others(dtype_name):
    """The kernel `(chosen, value, out)`: out = value where a cell is not chosen."""

    def fill_others_(chosen, value, out):
        i, step = int64(first()), int64(stride())
        while i < out.size:
            if chosen[i] == 0:
                out[i] = value
            i += step

    return fill_others_


def fill_others(field: CudaValues, chosen: CudaValues, value: float) -> None:
    """Set the cells that are not chosen."""
    over_all(build_fill_others, field.dtype_name, field.size, (chosen.flat, field.dtype.type(value), field.flat))


def build_plant(variant):
    """The kernel `(roots, distances, order)`: trees begin at the roots."""

    def plant(roots, distances, order):
        k, step = int64(first()), int64(stride())
        while k < roots.size:
            distances[roots[k]] = int32(0)
            order[k] = int32(roots[k])
            k += step

    return plant


def build_reach(variant):
    """The kernel `(shape, level, distance, faces, starts, counts, distances, order)`: from the cells at a distance from
    the roots those are reached that are one face further. In `order` the cells of a level begin at starts[level] and
    are counts[level] in number; those of the next one come behind them."""

    def reach(shape, level, distance, faces, starts, counts, distances, order):
        start, number = starts[level], int64(counts[level])
        k, step = int64(first()), int64(stride())
        if k == 0:
            starts[level + 1] = start + number
        while k < number:
            i = int64(order[start + k])
            x, y, z = where(i, shape)
            for way in range(6):
                other = beyond(i, way, x, y, z, shape[0], shape[1], shape[2])
                if (
                    distances[other] == UNREACHED
                    and conductance(faces[0], faces[1], faces[2], i, other, way) > 0
                    and cuda.atomic.cas(distances, other, int32(UNREACHED), int32(distance + 1)) == UNREACHED
                ):
                    at = cuda.atomic.add(counts, level + 1, int32(1))
                    order[start + number + int64(at)] = int32(other)
            k += step

    return reach


def build_ways(variant):
    """The kernel `(shape, faces, distances, ways)`: behind the first face of a cell that leads nearer to the roots is
    the cell that it is reached from."""

    def ways_(shape, faces, distances, ways):
        i, step = int64(first()), int64(stride())
        while i < ways.size:
            found, distance = APART, distances[i]
            if distance == 0:
                found = ROOT
            elif distance != UNREACHED:
                x, y, z = where(i, shape)
                for back in range(6):
                    way = 5 - back
                    other = beyond(i, way, x, y, z, shape[0], shape[1], shape[2])
                    nearer = distances[other] == distance - 1
                    if nearer and conductance(faces[0], faces[1], faces[2], i, other, way) > 0:
                        found = way
            ways[i] = uint8(found)
            i += step

    return ways_


def grow(faces: Faces, roots: np.ndarray) -> Trees:
    """Trees from all roots at once, over faces that conduct."""
    shape, size = faces[0].shape, prod(faces[0].shape)
    distances, order = room(shape, np.int32).fill(UNREACHED), empty(size, np.int32)
    over_all(build_plant, None, roots.size, (on_device(roots.astype(np.int64)), distances.flat, order))
    found = [roots.size]
    while found[-1]:
        starts, counts = np.zeros(LEVELS_AT_ONCE + 1, np.int64), np.zeros(LEVELS_AT_ONCE + 1, np.int32)
        starts[0], counts[0] = sum(found[:-1]), found[-1]
        on_gpu, reached = (on_device(starts), on_device(counts)), len(found) - 1
        for level in range(LEVELS_AT_ONCE):
            given = _shape(faces[0]), np.int64(level), np.int64(reached + level), _flat(faces)
            over_all(build_reach, None, size, (*given, *on_gpu, distances.flat, order))
        found += on_gpu[1].host()[1:].tolist()
        while len(found) > 1 and not found[-1] and not found[-2]:
            found.pop()
    ways = room(shape, np.uint8)
    over_all(build_ways, None, size, (_shape(faces[0]), _flat(faces), distances.flat, ways.flat))
    return Trees(order, ways, tuple(accumulate(found, initial=0)))


def build_gather(variant):
    """The kernel `(shape, start, end, order, ways, left)`: cells of one distance take what those behind them have."""

    def gather(shape, start, end, order, ways, left):
        k, step = start + int64(first()), int64(stride())
        while k < end:
            i = int64(order[k])
            heat = left[i]
            x, y, z = where(i, shape)
            for way in range(6):
                other = beyond(i, way, x, y, z, shape[0], shape[1], shape[2])
                if ways[other] == way ^ 1:
                    heat += left[other]
            left[i] = heat
            k += step

    return gather


def build_carried(variant):
    """The kernel `(shape, axis, drop, faces, ways, T, left, sums)`: sums (blocks, 3) of what the heat in each cell adds
    to q^2/g on its way, and of what of it passes along an axis."""

    def carried(shape, axis, drop, faces, ways, T, left, sums):
        grown, passed = float64(0.0), float64(0.0)
        i, step = int64(first()), int64(stride())
        while i < left.size:
            way = int64(ways[i])
            if way < ROOT:
                heat = left[i]
                x, y, z = where(i, shape)
                other = beyond(i, way, x, y, z, shape[0], shape[1], shape[2])
                g = float64(conductance(faces[0], faces[1], faces[2], i, other, way))
                grown += 2.0 * heat * warmer_by(T, i, other, way, axis, drop) + heat * heat / g
                if way // 2 == axis:
                    passed += heat if way % 2 == 1 else -heat
            i += step
        store_of_block(sums, block_sum(grown), block_sum(passed), float64(0.0))

    return carried


def carry_out(
    trees: Trees, faces: Faces, T: CudaValues, axis: int, drop: float, left: CudaValues
) -> tuple[float, float]:
    """Carry the heat that is left in each cell to the roots."""
    shape = _shape(T)
    for start, end in reversed([*zip(trees.levels, trees.levels[1:], strict=False)]):
        given = shape, np.int64(start), np.int64(end), trees.order, trees.ways.flat, left.flat
        over_all(build_gather, None, end - start, given)
    fields = _flat(faces), trees.ways.flat, T.flat, left.flat
    sums = sums_of_blocks(build_carried, None, T.size, (shape, np.int64(axis), np.float64(drop), *fields), 3)
    return float(sums[:, 0].sum()), float(sums[:, 1].sum())


def build_flows(axis):
    """The kernel `(shape, drop, g, T, sums)`: sums (blocks, 3) of g d and g d^2 over the faces along an axis."""
    way = 2 * axis + 1

    def flows(shape, drop, g, T, sums):
        passing, dissipated = float64(0.0), float64(0.0)
        i, step = int64(first()), int64(stride())
        while i < T.size:
            x, y, z = where(i, shape)
            other = beyond(i, way, x, y, z, shape[0], shape[1], shape[2])
            difference = T[i] - T[other] + drop
            through = float64(g[i]) * difference
            passing += through
            dissipated += through * difference
            i += step
        store_of_block(sums, block_sum(passing), block_sum(dissipated), float64(0.0))

    return flows


def flow(g: CudaValues, T: CudaValues, axis: int, drop: float) -> tuple[float, float]:
    """Sums of g d and g d^2 over the faces along an axis."""
    sums = sums_of_blocks(build_flows, axis, T.size, (_shape(T), np.float64(drop), g.flat, T.flat), 3)
    return float(sums[:, 0].sum()), float(sums[:, 1].sum())


def build_heat_of_drop(axis):
    """The kernel `(shape, drop, g, out)`: what flows in by the lower face along an axis without what flows out."""
    way = 2 * axis

    def heat_of_drop_(shape, drop, g, out):
        i, step = int64(first()), int64(stride())
        while i < out.size:
            x, y, z = where(i, shape)
            lower = beyond(i, way, x, y, z, shape[0], shape[1], shape[2])
            out[i] = drop * (float64(g[lower]) - float64(g[i]))
            i += step

    return heat_of_drop_


def heat_of_drop(g: CudaValues, axis: int, drop: float) -> CudaValues:
    """What a drop from cell to cell along an axis heats each cell by."""
    heat = room(g.shape, np.float64)
    over_all(build_heat_of_drop, axis, g.size, (_shape(g), np.float64(drop), g.flat, heat.flat))
    return heat
