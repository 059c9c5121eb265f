"""`basic`: one thread a cell, seven global loads.

         o z+1  o y+1
         | /                 thread (x, y, z) of the grid reads its own cell
    o -- c -- o              and its six neighbours from global memory, and
      /  |   x+1             writes one result; the caches catch what
  y-1 o  o z-1               neighbouring threads share.

13 operations for 28 bytes asked of the caches, 0.46 operations a byte; of device memory, 8 bytes a cell in float32 if
every neighbour is caught in cache. Source: Kirk and Hwu, Programming Massively Parallel Processors, stencil chapter.
"""

from __future__ import annotations

from numba import uint32

from ..cuda_api import SIMULATED, cuda, inlined
from ..fma import fma
from . import physics
from .structure import Structure

BLOCK = (8, 2, 1) if SIMULATED else (64, 4, 1)
LARGEST_GRID = 65535  # blocks along y and along z, in every CUDA device so far

second_difference = inlined(physics.second_difference)
face_differences = inlined(physics.face_differences)
ghost = inlined(physics.ghost)


def build(structure: Structure):
    """The kernel of a structure: `kernel[grid, BLOCK](u, v, nz, ny, nx, ...)`, see its arguments below.

    Indices are flat and unsigned, which spares the wrap-around tests that Numba gives signed ones; absent arrays are
    passed as any one-element array. Grids hold fewer than 2**32 cells.
    """
    pairs, zones, table, field = structure.pairs, structure.zones, structure.heat_table, structure.heat_field
    per_cell = structure.wall_per_cell
    wrap_x, wrap_y, wrap_z = structure.periodic

    @inlined
    def beyond(c, a, b, wall, zone, position):
        w = wall + (position if per_cell else zone)
        return ghost(c, a[w], b[w])

    @inlined
    def zone_at(zone_of, i):
        return uint32(zone_of[i]) if zones else uint32(0)

    @inlined
    def update(x, y, z, u, v, nz, ny, nx, a, b, walls, rx, ry, rz, rates, zone_of, count, heat, heat_field, dt, gain):
        one, plane = uint32(1), uint32(ny * nx)
        i = uint32(z * plane + y * nx + x)
        # The neighbours: next door, around the period, or (at a wall) the cell itself.
        ixm = uint32(i - one) if x > 0 else (uint32(i + nx - one) if wrap_x else i)
        ixp = uint32(i + one) if x < nx - one else (uint32(i + one - nx) if wrap_x else i)
        iym = uint32(i - nx) if y > 0 else (uint32(i + plane - nx) if wrap_y else i)
        iyp = uint32(i + nx) if y < ny - one else (uint32(i + nx - plane) if wrap_y else i)
        izm = uint32(i - plane) if z > 0 else (uint32(i + (nz - one) * plane) if wrap_z else i)
        izp = uint32(i + plane) if z < nz - one else (uint32(i - (nz - one) * plane) if wrap_z else i)
        zone = zone_at(zone_of, i)
        c = u[i]
        xm, xp, ym, yp, zm, zp = u[ixm], u[ixp], u[iym], u[iyp], u[izm], u[izp]
        if x == 0 and not wrap_x:
            xm = beyond(c, a, b, walls[0], zone, z * ny + y)
        if x == nx - one and not wrap_x:
            xp = beyond(c, a, b, walls[1], zone, z * ny + y)
        if y == 0 and not wrap_y:
            ym = beyond(c, a, b, walls[2], zone, z * nx + x)
        if y == ny - one and not wrap_y:
            yp = beyond(c, a, b, walls[3], zone, z * nx + x)
        if z == 0 and not wrap_z:
            zm = beyond(c, a, b, walls[4], zone, y * nx + x)
        if z == nz - one and not wrap_z:
            zp = beyond(c, a, b, walls[5], zone, y * nx + x)
        start = c
        if table:
            start = fma(dt, heat[zone], start)
        if field:
            start = fma(gain, heat_field[i], start)
        if pairs:
            px = uint32(zone * count)
            py = uint32(px + count * count)
            pz = uint32(py + count * count)
            rxm, rxp = rates[px + zone_at(zone_of, ixm)], rates[px + zone_at(zone_of, ixp)]
            rym, ryp = rates[py + zone_at(zone_of, iym)], rates[py + zone_at(zone_of, iyp)]
            rzm, rzp = rates[pz + zone_at(zone_of, izm)], rates[pz + zone_at(zone_of, izp)]
            v[i] = face_differences(start, c, xm, xp, ym, yp, zm, zp, rxm, rxp, rym, ryp, rzm, rzp)
        else:
            v[i] = second_difference(start, c, xm, xp, ym, yp, zm, zp, rx, ry, rz)

    def basic(u, v, nz, ny, nx, a, b, walls, rx, ry, rz, rates, zone_of, count, heat, heat_field, dt, gain):
        x = uint32(cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x)
        y = uint32(cuda.blockIdx.y * cuda.blockDim.y + cuda.threadIdx.y)
        z = uint32(cuda.blockIdx.z)
        rows, planes = uint32(cuda.gridDim.y * cuda.blockDim.y), uint32(cuda.gridDim.z)
        while x < nx and y < ny and z < nz:  # one round, unless an axis is longer than a launch allows
            update(
                x,
                y,
                z,
                u,
                v,
                nz,
                ny,
                nx,
                a,
                b,
                walls,
                rx,
                ry,
                rz,
                rates,
                zone_of,
                count,
                heat,
                heat_field,
                dt,
                gain,
            )
            z = uint32(z + planes)
            if z >= nz:
                z = uint32(cuda.blockIdx.z)
                y = uint32(y + rows)

    return basic


def grid(shape: tuple[int, int, int]) -> tuple[int, int, int]:
    """Blocks that cover the cells."""
    nz, ny, nx = shape
    return -(-nx // BLOCK[0]), min(-(-ny // BLOCK[1]), LARGEST_GRID), min(nz, LARGEST_GRID)
