"""Materials as tables of straight lines over the state variable, which is what kernels read.

    u = (H(T) - H(T_ref)) / C_ref     K, the state: enthalpy counted from the reference temperature, as an offset
    T(u)                              K, temperature offset over T_ref
    phi(u) = Phi / k_ref              K, Kirchhoff's potential counted from T_ref: heat flows down its slope
    w(T) = k_ref / k                  resistivity over that at T_ref

All materials share one grid in u (and one in T) of equal segments, so a look-up is a multiply-add, a conversion to an
integer, a load and a multiply-add; what differs is the row. The first and the last segment go on for ever: H and Phi
are continued linearly. A material that does not depend on temperature has T = phi = u and w = 1, to the bit.

Solidus and liquidus fall on knots. The grid is laid so for the material that takes up most between the two. Of others
that melt, H_ref and C_ref are changed a little, so that the melting range is a whole number of segments: u counts the
same enthalpy from another zero in another unit.

The tables are the material: energy is kept to rounding whatever they hold. T(u) at knots is exact, between them its
error is C'/C du^2/8, which at 2048 segments over 2000 K is some 1e-4 K for metals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil, isfinite
from typing import NamedTuple

import numpy as np

from heatsim_kernels.enthalpy.material import EnthalpyCurves, EnthalpyMaterial, curves, enthalpy_at, state_at
from heatsim_kernels.enthalpy.pieces import fit_pieces, pieces_of_lines, straight_pieces

SEGMENTS = 2048
MAX_SEGMENTS = 2**21  # some 200 MB a material: a latent heat of 1 J/kg over 4000 K needs as many


@dataclass(frozen=True)
class EnthalpyTables:
    """m materials over n segments: knot j is u = low + j*width, segment j lies below it, the last above them all; in T
    likewise with `coldest` and `step`.

    reference: T_ref, on the absolute scale if there is radiation, K.
    conductivity, capacity: (m,) k_ref, W/(m K), and C_ref, J/(m3 K), at T_ref, or near it: see above.
    potentials, temperatures: (m, n, 2) a and b of phi = a + b*u and T = a + b*u.
    resistivities: (m, n, 2) a and b of w = a + b*T.
    straight: (m,) bool, the materials that do not depend on temperature, T = phi = u and w = 1.
    knots: (m, n - 1) T at the knots; melted: (m, n - 1) share that has melted there.
    pieces: (m, 5, PIECES) phi as a few cubics, see `pieces`; None if a material needs more than there are.
    conductivity_pieces: (m, 5, PIECES) k/k_ref over T likewise.
    """

    reference: float
    low: float
    width: float
    coldest: float
    step: float
    conductivity: np.ndarray
    capacity: np.ndarray
    potentials: np.ndarray
    temperatures: np.ndarray
    resistivities: np.ndarray
    knots: np.ndarray
    melted: np.ndarray
    straight: np.ndarray
    pieces: np.ndarray | None = None
    conductivity_pieces: np.ndarray | None = None

    @property
    def offsets(self) -> np.ndarray:
        """(n - 1,) the knots of T."""
        return self.coldest + self.step * np.arange(self.segments - 1)

    def lines(self, values: np.ndarray) -> np.ndarray:
        """(n, 2) a and b of the lines a + b*T through values (n - 1,) at `offsets`, level before and after them."""
        return _level_lines(self.offsets, values)

    @property
    def segments(self) -> int:
        """Number of segments, n."""
        return int(self.potentials.shape[1])

    @cached_property
    def keeps_temperature(self) -> bool:
        """Whether u is the temperature offset in all materials."""
        return bool(self.constant_capacity.all())

    @cached_property
    def constant_capacity(self) -> np.ndarray:
        """(m,) bool, the materials that do not melt and have one heat capacity: u is the temperature offset, to the
        bit."""
        return np.asarray(np.all(self.temperatures == (0.0, 1.0), axis=(1, 2)))

    def potential(self, u: np.ndarray, material: np.ndarray | int) -> np.ndarray:
        """phi, K."""
        return self._on(self.potentials, u, material, self.low, self.width)

    def potential_at(self, offset: np.ndarray, material: np.ndarray) -> np.ndarray:
        """phi at temperature offsets (n,) of materials (n,), K, as kernels look it up: by pieces, if there are any."""
        u = self.state_of(offset, material)
        if self.pieces is None:
            return self.potential(u, material)
        knots, *powers, value = np.moveaxis(self.pieces[material], 1, 0)
        j = np.maximum((u[:, None] >= knots).sum(axis=1), 1) - 1
        rows = np.arange(len(u))
        found, d = value[rows, j], u - knots[rows, j]
        for power in reversed(powers):
            found = found * d + power[rows, j]
        return np.asarray(found)

    def temperature(self, u: np.ndarray, material: np.ndarray | int) -> np.ndarray:
        """Rise of temperature over the reference, K."""
        return self._on(self.temperatures, u, material, self.low, self.width)

    def slope(self, u: np.ndarray, material: np.ndarray | int) -> np.ndarray:
        """dT/du: C_ref over the heat capacity there, 0 where a material melts at one temperature."""
        return self._line(self.temperatures, u, material, self.low, self.width)[..., 1]

    def resistivity(self, offset: np.ndarray, material: np.ndarray | int) -> np.ndarray:
        """w at a temperature offset."""
        return self._on(self.resistivities, offset, material, self.coldest, self.step)

    def _on(
        self, lines: np.ndarray, at: np.ndarray, material: np.ndarray | int, low: float, width: float
    ) -> np.ndarray:
        line = self._line(lines, at, material, low, width)
        return np.asarray(line[..., 0] + line[..., 1] * at)

    def _line(
        self, lines: np.ndarray, at: np.ndarray, material: np.ndarray | int, low: float, width: float
    ) -> np.ndarray:
        s = (np.asarray(at, float) - low) / width + 1
        return np.asarray(lines[material, np.clip(np.nan_to_num(s), 0, self.segments - 1).astype(int)])

    def melted_fraction(self, u: np.ndarray, material: np.ndarray | int) -> np.ndarray:
        """Share of each cell that has melted, 0 to 1."""
        place = np.clip((np.asarray(u, float) - self.low) / self.width, 0, self.segments - 2)
        j = np.minimum(place.astype(int), self.segments - 3)
        below, above = self.melted[material, j], self.melted[material, j + 1]
        return np.asarray(below + (place - j) * (above - below))

    def state_of(self, offset: np.ndarray, material: np.ndarray | int) -> np.ndarray:
        """u at a temperature offset over the reference, the inverse of `temperature`; all solid at a melting point."""
        offset = np.asarray(offset, float)
        material = np.broadcast_to(material, offset.shape)
        u = np.empty(offset.shape)
        for m in np.unique(material):
            here = material == m
            u[here] = self._inverse(offset[here], int(m))
        return u

    def _inverse(self, offset: np.ndarray, m: int) -> np.ndarray:
        j = np.searchsorted(self.knots[m], offset, side="left")
        a, b = self.temperatures[m, j, 0], self.temperatures[m, j, 1]
        flat = b < 1e-9  # only at its lower end can an offset lie on a flat segment
        at_knot = self.low + self.width * np.maximum(j - 1, 0)
        return np.where(flat, at_knot, (offset - a) / np.where(flat, 1.0, b))


def tabulate(
    materials: Sequence[EnthalpyMaterial],
    reference: float,
    span: tuple[float, float] | None = None,
    segments: int = SEGMENTS,
) -> EnthalpyTables:
    """Tables of materials about a reference temperature.

    span: temperatures between which to tabulate; by default all those between the knots of the materials.
    segments: how many, at least.

    Raises `ValueError` where heat capacities or temperatures lie so far apart that the tables would need more than
    MAX_SEGMENTS segments, or hold what is not finite.
    """
    all_curves = [curves(material) for material in materials]
    units = [_at_reference(material, reference) for material in materials]
    conductivity = np.array([k for _, k in units])
    scales = [_Scale(enthalpy_at(of, reference), C) for of, (C, _) in zip(all_curves, units, strict=True)]
    low, width, count, scales = _grid(materials, all_curves, scales, span or _span(materials, reference), segments)
    if count > MAX_SEGMENTS:
        raise ValueError(f"{count:.3g} segments are needed, and {MAX_SEGMENTS} are the most")
    u = low + width * np.arange(-1, count + 2)
    rows = [_rows(*each, reference, u) for each in zip(materials, all_curves, scales, conductivity, strict=True)]
    potentials, temperatures, knots, melted, pieces = zip(*rows, strict=True)
    knots, melted = np.array(knots), np.array(melted)
    T = np.linspace(knots.min(), knots.max(), count + 1)
    step = T[1] - T[0]
    resistivities = np.array(
        [_resistivities(*each, reference, T) for each in zip(all_curves, conductivity, strict=True)]
    )
    conductivities = [_conductivities(*each, reference, T) for each in zip(all_curves, conductivity, strict=True)]
    if not all(np.isfinite(table).all() for table in (*potentials, *temperatures, resistivities)):
        raise ValueError("enthalpies or potentials are too large for numbers of 64 bits")
    straight = np.array([material.is_linear for material in materials])
    grids, capacity = (low, width, float(T[0]), float(step)), np.array([scale.capacity for scale in scales])
    return EnthalpyTables(
        reference, *grids, conductivity, capacity, np.array(potentials), np.array(temperatures), resistivities, knots,
        melted, straight, _of_all(pieces), _of_all(conductivities),
    )  # fmt: skip


def _of_all(pieces: Sequence[np.ndarray | None]) -> np.ndarray | None:
    """The pieces of all materials; None if one has none."""
    found = [each for each in pieces if each is not None]
    return np.array(found) if len(found) == len(pieces) else None


def _at_reference(material: EnthalpyMaterial, reference: float) -> tuple[float, float]:
    """Heat capacity and conductivity at the reference temperature."""
    T = material.temperature
    return float(np.interp(reference, T, material.capacity)), float(np.interp(reference, T, material.conductivity))


def _span(materials: Sequence[EnthalpyMaterial], reference: float) -> tuple[float, float]:
    """The temperatures that the knots of the materials reach."""
    knots = [v for each in materials if not each.is_linear for v in (each.temperature[0], each.temperature[-1])]
    knots += [v for each in materials if each.latent > 0 for v in (each.solidus, each.liquidus)]
    low, high = min(knots, default=reference), max(knots, default=reference)
    return (float(low), float(high)) if low < high else (low - 1.0, low + 1.0)


class _Scale(NamedTuple):
    """What u counts of a material: (H - origin) / capacity; J/m3 and J/(m3 K)."""

    origin: float
    capacity: float

    def state(self, enthalpy: float) -> float:
        """u, K."""
        return (enthalpy - self.origin) / self.capacity


def _grid(
    materials: Sequence[EnthalpyMaterial],
    all_curves: Sequence[EnthalpyCurves],
    scales: Sequence[_Scale],
    span: tuple[float, float],
    segments: int,
) -> tuple[float, float, int, list[_Scale]]:
    """First knot, width and number of the segments between knots, and the scales that the materials then have."""
    heats = [[enthalpy_at(of, T) for T in span] for of in all_curves]
    first, last = _ends(heats, scales)
    width = (last - first) / segments
    melting = {
        number: (_last(of, of.melted == 0), _first(of, of.melted == 1))
        for number, (material, of) in enumerate(zip(materials, all_curves, strict=True))
        if material.latent > 0
    }
    scales = list(scales)
    if melting:
        ranges = {number: [scales[number].state(heat) for heat in ends] for number, ends in melting.items()}
        widest = max(ranges, key=lambda number: ranges[number][1] - ranges[number][0])
        solid, liquid = ranges[widest]
        if not (liquid > solid and width > 0):
            raise ValueError("enthalpies are so large that a solidus and its liquidus have the same in 64 bits")
        width = (liquid - solid) / ceil((liquid - solid) / width)
        for number, ends in melting.items():
            heats[number] += ends
            if number != widest:
                scales[number] = _with_knots(scales[number], *ends, solid, width)
        first, last = _ends(heats, scales)
        first = solid - width * ceil((solid - first) / width)
    if not isfinite(last - first) or not width > 0:
        raise ValueError("enthalpies are too large for numbers of 64 bits")
    return float(first), float(width), max(2, ceil((last - first) / width)), scales


def _ends(heats: Sequence[Sequence[float]], scales: Sequence[_Scale]) -> tuple[float, float]:
    """The least and the greatest u of some enthalpies of each material."""
    found = [scale.state(heat) for scale, of in zip(scales, heats, strict=True) for heat in of]
    return min(found), max(found)


def _with_knots(scale: _Scale, solid: float, liquid: float, knot: float, width: float) -> _Scale:
    """The scale changed so that these enthalpies are at u = knot and a whole number of widths from it; the first alone,
    if they are less than half a width apart."""
    count = round((liquid - solid) / (scale.capacity * width))
    capacity = (liquid - solid) / (count * width) if count else scale.capacity
    place = round((_Scale(scale.origin, capacity).state(solid) - knot) / width)
    return _Scale(solid - capacity * (knot + place * width), capacity)


def _last(of: EnthalpyCurves, chosen: np.ndarray) -> float:
    return float(of.enthalpy[np.flatnonzero(chosen)[-1]])


def _first(of: EnthalpyCurves, chosen: np.ndarray) -> float:
    return float(of.enthalpy[np.flatnonzero(chosen)[0]])


def _rows(
    material: EnthalpyMaterial, of: EnthalpyCurves, scale: _Scale, k: float, reference: float, u: np.ndarray
) -> tuple[np.ndarray | None, ...]:
    """The lines, states, temperatures at knots, melted shares and pieces of one material; u: the knots, with one more
    at each end."""
    if material.is_linear:
        line = np.tile([0.0, 1.0], (len(u) - 1, 1))
        return line, line, u[1:-1], np.zeros(len(u) - 2), straight_pieces()
    zero = float(state_at(of, np.array(enthalpy_at(of, reference))).potential)

    def potential_at(states: np.ndarray) -> np.ndarray:
        return np.asarray((state_at(of, scale.origin + scale.capacity * states).potential - zero) / k)

    at = state_at(of, scale.origin + scale.capacity * u)
    keeps = material.latent == 0 and np.ptp(material.capacity) == 0
    offset = u if keeps else at.temperature - reference
    own_knots = (of.enthalpy - scale.origin) / scale.capacity  # between which the potential is smooth
    states = np.unique(np.concatenate((u, own_knots[(own_knots > u[1]) & (own_knots < u[-2])])))
    pieces = fit_pieces(states, potential_at(states))
    lines = np.tile([0.0, 1.0], (len(u) - 1, 1)) if keeps else _lines(u, offset)
    return _lines(u, potential_at(u)), lines, offset[1:-1], at.melted[1:-1], pieces


def _resistivities(of: EnthalpyCurves, k: float, reference: float, T: np.ndarray) -> np.ndarray:
    """(n, 2) the lines of w over the knots T, level before and after them."""
    return _level_lines(T, k / np.interp(T + reference, of.temperature, of.conductivity))


def _conductivities(of: EnthalpyCurves, k: float, reference: float, T: np.ndarray) -> np.ndarray | None:
    """The pieces of k/k_ref over offsets; knots T are where a curve is fitted, besides its own."""
    knots, values = of.temperature - reference, of.conductivity / k
    if np.ptp(values) == 0:
        knots, values = knots[:1], values[:1]
    lines = pieces_of_lines(knots, values)
    if lines is not None:
        return lines
    states = np.unique(np.concatenate((T, knots[(knots > T[0]) & (knots < T[-1])])))
    step = T[1] - T[0]
    at = np.pad(np.interp(states, knots, values), 1, mode="edge")
    return fit_pieces(np.concatenate(([T[0] - step], states, [T[-1] + step])), at, of_slopes=False)


def _level_lines(T: np.ndarray, values: np.ndarray) -> np.ndarray:
    step = T[1] - T[0]
    return _lines(np.concatenate(([T[0] - step], T, [T[-1] + step])), np.pad(values, 1, mode="edge"))


def _lines(u: np.ndarray, values: np.ndarray) -> np.ndarray:
    """(n, 2) a and b of the lines through n + 1 values, from knot to knot."""
    slopes = np.diff(values) / np.diff(u)
    inner = np.maximum(np.arange(len(slopes)), 1)  # the first segment starts from its upper knot
    return np.stack((values[inner] - slopes * u[inner], slopes), axis=1)
