"""What one explicit step does to one cell, wherever it lies; the same source for the CPU and for CUDA.

    u_new = (u + sources + sum over some faces of rate * difference) + sum over the others

    own material beyond:    rate = dt / (C V (own + other))                        difference of phi
    a boundary face:                 as own material; the phi beyond is known from a tangent, see `KnownBoundary`
    another one beyond:     rate = dt / (C V (own/k + contact + other/k'))         difference of T;  comes last

So what passes between materials is added to what any cell gets. In a stage it is multiplied like the change of a cell.
Where one rate serves both faces along x, and both along y, there is one product for the two: of the sum of their
differences in a uniform problem, else of the second difference. The movements take shorter ways where all is own
material, with the same operations in the same order: that gives equal bits. Quotients are IEEE's on both targets, and
no product is added but by a multiply-add.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import int64

from heatsim_kernels.device.fma import fma
from heatsim_kernels.explicit.enthalpy import surface_balance
from heatsim_kernels.explicit.enthalpy.coefficients import CLOSED, FIXED, OTHER, OWN
from heatsim_kernels.explicit.enthalpy.pieces import PIECE_NUMBERS

COEFFICIENT, AMBIENT = (surface_balance.SURFACE_TERMS.index(name) for name in ("coefficient", "ambient"))
GIVEN = 0.5 * FIXED  # W/(m2 K), from which on a coefficient says that the temperature of the surface is given
SAME_TEMPERATURE = 1e-6  # of 1 K and the offset: so close, a slope is that of a tangent
NUMBERS = 6  # for each face of each cell class: see `EnthalpyMedium`
# Passes at most where a coefficient follows the surface. Newton's take some five; where h leaps, half of them bisect.
MAX_FACTOR_ITERATIONS = 64
TANGENT_DIFFERENCE = 1e-3  # K, over which the slope of a flux is found


class EnthalpyBox(NamedTuple):
    """Cells along each axis, and whether its index wraps; int64."""

    nz: int | np.int64
    ny: int | np.int64
    nx: int | np.int64
    wrap_x: int | np.int64
    wrap_y: int | np.int64
    wrap_z: int | np.int64


class EnthalpyMedium(NamedTuple):
    """Materials and faces for steps of dt. What stands for arrays is flat, or a pointer.

    scale, shift, last: the segment of u is u*scale + shift, between 0 and `last`; t_scale, t_shift: that of T.
    zero, half, one, four: these numbers in the field's precision; a literal would be float64.
    potentials, temperatures, resistivities: see `EnthalpyTables`; segments: in a row of these. pieces: of the
    potentials, in place of their segments where has_pieces; of the conductivities over k_ref from place
        `conductivity_pieces` on, unless that is negative.
    material: (n,) of each cell class. links: (n, 6) see `coefficients`.
    numbers: (n, 6, NUMBERS) for each face: dt / (C V (own + other)); own, contact, other times C V / dt;
        area (own + other) and area own, m2 K/W.
    uniform: whether one rate serves both faces of an axis everywhere. paired: whether in each class one serves both in
        x, and one both in y, but not all axes everywhere. several: whether there are several classes.
    """

    zero: float
    half: float
    one: float
    four: float
    pieces: Any
    potential_pieces: int | np.int64
    temperatures_at: int | np.int64
    temperature_pieces: int | np.int64
    conductivities_at: int | np.int64
    conductivity_pieces: int | np.int64
    integrals_at: int | np.int64
    integral_pieces: int | np.int64
    material: Any
    links: Any
    numbers: Any
    uniform: int | np.int64
    paired: int | np.int64
    several: int | np.int64
    class_ids: Any


class EnthalpyBoundary(NamedTuple):
    """Values of a step, flat, from `start` on (terms, size), see `surface_balance`; where each face starts in such a
    row of them; which faces are closed; whether there is a value a cell or one a class; and T_ref, K.

    follow: whether any boundary face has a factor. factor: (size,) which one, from 1 on, or 0. factors: their pieces
    over T, flat, `factor_pieces` a row. near: the share of its distance from the ambient by which a
    surface may still move when its search ends.
    """

    values: Any
    start: int | np.int64
    size: int | np.int64
    offsets: Any
    closed: Any
    per_cell: int | np.int64
    reference: float
    follow: int | np.int64
    factor: Any
    factors: Any
    factor_pieces: int | np.int64
    near: float


class KnownBoundary(NamedTuple):
    """Which faces are closed, where each face starts, and the sides of the cells there, see `side_of`, flat."""

    closed: Any
    starts: Any
    sides: Any


def side_of(face, beyond, potential, paired):
    """What a face is to a cell: the difference of phi beyond it and of the cell; but phi beyond it where second
    differences are taken, which are paired faces in x and y."""
    return beyond if paired and face < 4 else beyond - potential


class LookUps(NamedTuple):
    """Device functions that look a state up in the tables of its material: the piece of a row that a value lies on, and
    what that gives there; of u Kirchhoff's potential and the temperature, of that the resistivity, the conductivity
    over k_ref and the potential."""

    piece: Any
    phi: Any
    temperature: Any
    resistivity: Any
    conductivity: Any
    phi_at: Any


class Functions(NamedTuple):
    """The device functions of this file."""

    piece: Any
    phi: Any
    temperature: Any
    resistivity: Any
    conductivity: Any
    phi_at: Any
    surface_heat: Any
    between: Any
    passing: Any
    with_faces: Any
    from_others: Any


def build(inlined, called, read=None) -> Functions:
    """The functions, compiled for a target by its `inlined`; by `called`, what is long and needed in few cells.

    read: a device function that does what `_item` does, if the target has a better one.
    """
    read = read or inlined(_item)
    look = _look_ups(inlined, read)
    surface_heat = _build_surface_heat(inlined, called, look, read)
    between = _between(inlined, look, read)
    within, across, passing = _build_passing(inlined, look.phi, between, read)
    with_faces, from_others = _build_sums(inlined, look.phi, within, across, read)
    return Functions(*look, surface_heat, between, passing, with_faces, from_others)


def _build_passing(inlined, phi, between, read):
    """What passes one face of a cell, as a rate and a difference: but from another material, from one, and either."""
    at_boundary, side = _known_boundary(inlined, read), inlined(side_of)

    @inlined
    def neighbour(i, x, y, z, face, box):
        """The cell beyond a face of cell i at (x, y, z), around a period if need be; whether the face is one of the
        box; and its place there."""
        at, n, stride, wraps, position = x, box.nx, int64(1), box.wrap_x, z * box.ny + y
        if face >= 4:
            at, n, stride, wraps, position = z, box.nz, box.ny * box.nx, box.wrap_z, y * box.nx + x
        elif face >= 2:
            at, n, stride, wraps, position = y, box.ny, box.nx, box.wrap_y, z * box.nx + x
        upper = face % 2 == 1
        at_end = at == (n - 1 if upper else int64(0))
        step = stride * (1 - n if at_end else int64(1))
        return i + step if upper else i - step, at_end and wraps == 0, position

    @inlined
    def within(field, i, x, y, z, face, cell_class, potential, box, medium, boundary):
        """The rate of a face of cell i at (x, y, z) in a step, and its `side_of` the cell: as if phi were the same
        beyond it if nothing passes, or if it is to another material."""
        beyond, of_box, position = neighbour(i, x, y, z, face, box)
        rate, paired = read(medium.numbers, (cell_class * 6 + face) * NUMBERS), medium.paired != 0
        found = side(face, potential, potential, paired)
        if of_box:
            found = at_boundary(face, position, found, boundary)
        elif int64(read(medium.links, cell_class * 6 + face)) == OWN:
            there = phi(read(field, beyond), int64(read(medium.material, cell_class)), medium)
            found = side(face, there, potential, paired)
        return rate, found

    @inlined
    def across(field, i, x, y, z, face, cell_class, box, medium):
        """What a face to another material brings to cell i at (x, y, z) in a step."""
        beyond, _, _ = neighbour(i, x, y, z, face, box)
        return between(read(field, i), read(field, beyond), cell_class, face, medium.zero, medium)

    @inlined
    def passing(field, i, x, y, z, face, cell_class, potential, box, medium, boundary):
        """What a face brings to cell i at (x, y, z) in a step."""
        if int64(read(medium.links, cell_class * 6 + face)) < OTHER:
            rate, difference = within(field, i, x, y, z, face, cell_class, potential, box, medium, boundary)
            if medium.paired != 0 and face < 4:
                difference -= potential
        else:
            rate, difference = across(field, i, x, y, z, face, cell_class, box, medium)
        return rate, difference

    return within, across, passing


def _build_sums(inlined, phi, within, across, read):
    """What all faces bring: with_faces and from_others of `Functions`."""

    @inlined
    def with_faces(value, field, i, x, y, z, cell_class, box, medium, boundary):
        """`value` plus what the six faces bring to cell i at (x, y, z), but for what comes from other materials."""
        potential = phi(read(field, i), int64(read(medium.material, cell_class)), medium)
        lower, by_axis = potential, medium.uniform != 0 or medium.paired != 0
        for turn in range(6):
            face = turn
            if medium.uniform != 0:  # z_min, then the others: see `physics.axis_differences`
                face = (turn + 4) % 5 if turn < 5 else turn
            rate, side = within(field, i, x, y, z, face, cell_class, potential, box, medium, boundary)
            if not by_axis or face >= 4:
                value = fma(rate, side, value)
            elif face % 2 == 1:
                both = lower + side
                if medium.paired != 0:  # see `physics.layer_differences`
                    both -= potential + potential
                value = fma(rate, both, value)
            lower = side
        return value

    @inlined
    def from_others(field, i, x, y, z, cell_class, box, medium):
        """What cell i at (x, y, z) gets from other materials beside it."""
        found = medium.zero
        for face in range(6):
            if int64(read(medium.links, cell_class * 6 + face)) >= OTHER:
                rate, difference = across(field, i, x, y, z, int64(face), cell_class, box, medium)
                found = fma(rate, difference, found)
        return found

    return with_faces, from_others


def _item(array, i):
    return array[i]


def _look_ups(inlined, read) -> LookUps:
    @inlined
    def piece(x, pieces, first, count):
        """The place of the last knot that is not above x, of a row of so many pieces."""
        j, half = first, count >> int64(1)
        while half > 0:
            if x >= read(pieces, j + half):
                j += half
            half >>= int64(1)
        return j

    @inlined
    def on_piece(x, row, pieces, first, count):
        j = piece(x, pieces, first + row * PIECE_NUMBERS * count, count)
        d, e = x - read(pieces, j), read(pieces, j + 4 * count)
        b, c = read(pieces, j + 2 * count), read(pieces, j + 3 * count)
        return fma(fma(fma(e, d, c), d, b), d, read(pieces, j + count))

    @inlined
    def phi(u, material, medium):
        """Kirchhoff's potential of a material at u."""
        return on_piece(u, material, medium.pieces, int64(0), medium.potential_pieces)

    @inlined
    def temperature(u, material, medium):
        return on_piece(u, material, medium.pieces, medium.temperatures_at, medium.temperature_pieces)

    @inlined
    def conductivity(T, material, medium):
        return on_piece(T, material, medium.pieces, medium.conductivities_at, medium.conductivity_pieces)

    @inlined
    def resistivity(T, material, medium):
        return medium.one / conductivity(T, material, medium)

    @inlined
    def phi_at(T, material, medium):
        return on_piece(T, material, medium.pieces, medium.integrals_at, medium.integral_pieces)

    return LookUps(piece, phi, temperature, resistivity, conductivity, phi_at)


def _build_surface_heat(inlined, called, look, read):
    heat_entering, with_factor = map(inlined, (surface_balance.heat_entering, surface_balance.terms_with_factor))
    terms_at = surface_balance.build_terms_at(inlined, read)
    piece, resistivity, phi_at = look.piece, look.resistivity, look.phi_at
    bracketed = inlined(_bracketed)

    @inlined
    def from_given(T, surface, half_cell, material, medium):
        """Heat from a surface of given temperature, W/m2, exact whatever k does between, and the slope of the line
        through it and none."""
        entering = (phi_at(surface, material, medium) - phi_at(T, material, medium)) / half_cell
        if abs(surface - T) > SAME_TEMPERATURE * (medium.one + abs(T)):
            return entering, entering / (surface - T)
        return entering, medium.one / (half_cell * resistivity(T, material, medium))

    @inlined
    def terms_near(x, factor, terms, medium, boundary):
        """The terms of a surface near x, with the factor of that number."""
        count = boundary.factor_pieces
        j = piece(x, boundary.factors, (factor - int64(1)) * PIECE_NUMBERS * count, count)
        d, b = x - read(boundary.factors, j), read(boundary.factors, j + 2 * count)
        c, e = read(boundary.factors, j + 3 * count), read(boundary.factors, j + 4 * count)
        curved = fma(e, d, c)
        f = fma(fma(curved, d, b), d, read(boundary.factors, j + count))
        slope = fma(fma(e, d, curved + c), d, b)
        return with_factor(terms, f, slope, x, medium.zero)

    @called
    def surface_heat(T, material, cell_class, face, position, medium, boundary):
        """Heat that enters a cell at T through a boundary face, W/m2; how much less of it a warmer one with the same
        resistance, W/(m2 K); and whether it has the same, since k is constant there."""
        place = read(boundary.offsets, face) + (position if boundary.per_cell != 0 else cell_class)
        given = terms_at(boundary.values, boundary.start + place, boundary.size)
        zero, one, four = medium.zero, medium.one, medium.four
        half_cell = read(medium.numbers, (cell_class * 6 + face) * NUMBERS + 5)
        if given[COEFFICIENT] >= GIVEN and half_cell > zero:  # a held cell has none, and takes no heat
            entering, less = from_given(T, given[AMBIENT], half_cell, material, medium)
            return entering, less, False
        factor = int64(read(boundary.factor, place)) if boundary.follow != 0 else int64(0)
        x, r, entering, less = T, zero, zero, zero
        low, high, moved, sides, constant = T, T, zero, 0, False
        # With k at the centre first, then midway between it and the surface; a factor likewise, then at the surface.
        for step in range(MAX_FACTOR_ITERATIONS if factor > 0 else 2):
            before, x = x, fma(r, entering, T)
            if factor > 0 and step > 0:
                x, low, high, sides, bisected = bracketed(x, before, low, high, moved, sides, medium.half)
                if bisected:
                    entering = (x - T) / r
                moved = x - before
                if step > 1 and not bisected and abs(moved) <= boundary.near * abs(x - given[AMBIENT]):
                    break
            before_r, r = r, resistivity(fma(medium.half * r, entering, T), material, medium) * half_cell
            constant = factor == 0 and step > 0 and r == before_r
            if constant:
                break  # the balance is found
            terms = given
            if factor > 0:
                terms = terms_near(x, factor, given, medium, boundary)
            entering, less = heat_entering(T, r, terms, boundary.reference, zero, one, four)
        return entering, less, constant

    return surface_heat


def _bracketed(x, before, low, high, moved, sides, half):
    """Where to look for the temperature of a surface after `before`, whose law gives x; the bracket with `before`, and
    whether it was halved. sides: 1 if `low` is known, 2 if `high` is.

    The law at `before` is exact there and rises: the surface is on the side of it to which x moved. With both sides
    known, a step that leaves them, or is not much shorter than the last, goes to their middle.
    """
    if x > before:
        low, sides = before, sides | 1
    else:
        high, sides = before, sides | 2
    outside = x <= low or x >= high or abs(x - before) > half * abs(moved)
    bisected = sides == 3 and outside and x != before
    if bisected:
        x = fma(half, high - low, low)
    return x, low, high, sides, bisected


def build_tangent(inlined, functions, read=None):
    """Build tangent(T, potential, material, cell_class, face, position, steepest, medium, boundary): a and b of the
    tangent to the flux through a boundary face of a cell at T, see `surface_tangents`, in float64; steepest: the
    largest -a."""
    surface_heat, resistivity, read = functions.surface_heat, functions.resistivity, read or inlined(_item)

    @inlined
    def tangent(T, potential, material, cell_class, face, position, steepest, medium, boundary):
        entering, less, constant = surface_heat(T, material, cell_class, face, position, medium, boundary)
        slope = -less
        if not constant:
            warmer, _, _ = surface_heat(T + TANGENT_DIFFERENCE, material, cell_class, face, position, medium, boundary)
            slope = (warmer - entering) / TANGENT_DIFFERENCE
        rising = steepest if boundary.follow != 0 else medium.zero
        thickness = read(medium.numbers, (cell_class * 6 + face) * NUMBERS + 4)
        a = min(max(slope * resistivity(T, material, medium) * thickness, -steepest), rising)
        return a, fma(-a, potential, thickness * entering)

    return tangent


def _known_boundary(inlined, read):
    @inlined
    def at_boundary(face, position, found, boundary):
        """What a boundary face is to a cell; `found` if it is closed."""
        if read(boundary.closed, face) == 0:
            found = read(boundary.sides, read(boundary.starts, face) + position)
        return found

    return at_boundary


def build_series(inlined, conductivity):
    """series(T, T1, one, other_one, own, contact, other, medium): the rate of exchange between cells of two materials,
    `one` and `other_one`, at T and T1: 1/(own/k + contact + other/k1), with k midway between each centre and the
    interface."""

    @inlined
    def series(T, T1, one, other_one, own, contact, other, medium):
        k, k1 = conductivity(T, one, medium), conductivity(T1, other_one, medium)
        a, b = own * k1, other * k
        halfway = medium.half * ((T1 - T) / fma(contact * k, k1, fma(own, k1, b)))
        k, k1 = (
            conductivity(fma(halfway, a, T), one, medium),
            conductivity(fma(-halfway, b, T1), other_one, medium),
        )
        return (k * k1) / fma(contact * k, k1, fma(own, k1, other * k))

    return series


def _between(inlined, look, read):
    phi, temperature, series = look.phi, look.temperature, build_series(inlined, look.conductivity)

    @inlined
    def between(u, u1, cell_class, face, potential, medium):
        """Rate and difference of two cells, of which the other one is at u1."""
        link, material = int64(read(medium.links, cell_class * 6 + face)), int64(read(medium.material, cell_class))
        numbers = (cell_class * 6 + face) * NUMBERS
        rate, difference = read(medium.numbers, numbers), medium.zero
        if link == OWN:
            difference = phi(u1, material, medium) - potential
        elif link != CLOSED:
            beyond = link - OTHER
            T, T1 = temperature(u, material, medium), temperature(u1, beyond, medium)
            own, contact = read(medium.numbers, numbers + 1), read(medium.numbers, numbers + 2)
            other = read(medium.numbers, numbers + 3)
            rate = series(T, T1, material, beyond, own, contact, other, medium)
            difference = T1 - T
        return rate, difference

    return between
