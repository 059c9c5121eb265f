"""Materials as curves over the state variable, which is what kernels read.

    u = (H(T) - H(T_ref)) / C_ref     K, the state: enthalpy counted from the reference temperature, as an offset
    T(u)                              K, temperature offset over T_ref
    phi(u) = Phi / k_ref              K, Kirchhoff's potential counted from T_ref: heat flows down its slope
    phi(T)                            K, the same over the temperature
    k(T) / k_ref                      conductivity over that at T_ref

Each curve is a table of cubics, see `pieces`, with knots where the material asks for them: at those of its properties,
at solidus and liquidus, and wherever a cubic alone would be wrong. Before the first knot of a material and behind the
last, H and Phi go on linearly, which is exact where properties keep their last values. A material that does not depend
on temperature has T = phi = u and k = k_ref, to the bit.

The tables are the material: energy is kept to rounding whatever they hold. `error` says how far slopes of T and phi,
which are the heat capacity and the conductivity, and the values of k are from the curves of the material.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from heatsim_kernels.explicit.enthalpy.material import EnthalpyCurves, EnthalpyMaterial, curves, enthalpy_at, state_at
from heatsim_kernels.explicit.enthalpy.pieces import (
    as_table,
    fit_pieces,
    inverse_at,
    pieces_of_lines,
    pieces_through,
    straight_pieces,
    value_at,
)

RATIO_OF_STATES = 1.005  # of k and of C, at most, between neighbouring states through which curves are fitted
MANY_STATES = 20_000  # beyond, as where k changes by 43 powers of ten, neighbours may differ by more
STATES_OF_PIECE = 49  # between two knots of the properties, at least, unless these are so many that they are enough
MANY_KNOTS = 1000
CANDIDATES = 129  # among which a better reference is looked for, at equal steps and at equal ratios
MANY_ROUNDINGS = 1e4  # of an enthalpy, between two states: closer ones would say nothing of slopes
MUCH_BETTER = 0.25  # of the rounding about the middle
TOO_LARGE = "enthalpies or potentials are too large for numbers of 64 bits"


@dataclass(frozen=True)
class EnthalpyTables:
    """m materials as curves, of which each is a table (m, PIECE_NUMBERS, n) of pieces.

    reference: T_ref, on the absolute scale if there is radiation, K.
    conductivity, capacity: (m,) k_ref, W/(m K), and C_ref, J/(m3 K), at T_ref.
    potentials, temperatures, conductivities, integrals: phi(u), T(u), k(T)/k_ref and phi(T).
    straight: (m,) bool, the materials that do not depend on temperature, T = phi = u and k = k_ref.
    curves: the exact curves; origins: (m,) H at u = 0, J/m3.
    error: (m,) the relative error of the heat capacity and the conductivity that the tables hold, at most.
    reached: offsets between which the body is taken to stay, K, for the longest stable step.
    """

    reference: float
    conductivity: np.ndarray
    capacity: np.ndarray
    potentials: np.ndarray
    temperatures: np.ndarray
    conductivities: np.ndarray
    integrals: np.ndarray
    straight: np.ndarray
    curves: tuple[EnthalpyCurves, ...] = field(repr=False)
    origins: np.ndarray = field(repr=False)
    error: np.ndarray = field(repr=False)
    reached: tuple[float, float]

    @cached_property
    def keeps_temperature(self) -> bool:
        """Whether u is the temperature offset in all materials."""
        return bool(self.constant_capacity.all())

    @cached_property
    def constant_capacity(self) -> np.ndarray:
        """(m,) bool, the materials that do not melt and have one heat capacity: u is the temperature offset, to the
        bit."""
        line = straight_pieces()[:, 0]
        alone = np.isinf(self.temperatures[:, 0, 1])
        return np.asarray(alone & np.all(self.temperatures[:, :, 0] == line, axis=1))

    def potential(self, u: np.ndarray, material: np.ndarray | int) -> np.ndarray:
        """phi, K."""
        return value_at(self.potentials, u, material)

    def potential_at(self, offset: np.ndarray, material: np.ndarray) -> np.ndarray:
        """phi at temperature offsets (n,) of materials (n,) or (1,), K."""
        return self.potential(self.state_of(offset, material), material)

    def temperature(self, u: np.ndarray, material: np.ndarray | int) -> np.ndarray:
        """Rise of temperature over the reference, K."""
        return value_at(self.temperatures, u, material)

    def slope(self, u: np.ndarray, material: np.ndarray | int) -> np.ndarray:
        """dT/du: C_ref over the heat capacity there, 0 where a material melts at one temperature."""
        return value_at(self.temperatures, u, material, slope=True)

    def resistivity(self, offset: np.ndarray, material: np.ndarray | int) -> np.ndarray:
        """k_ref / k at a temperature offset."""
        return np.asarray(1.0 / value_at(self.conductivities, offset, material))

    def melted_fraction(self, u: np.ndarray, material: np.ndarray | int) -> np.ndarray:
        """Share of each cell that has melted, 0 to 1."""
        u = np.asarray(u, float)
        material = np.broadcast_to(material, u.shape)
        found = np.empty(u.shape)
        for number in np.unique(material):
            here = material == number
            enthalpy = self.origins[number] + self.capacity[number] * u[here]
            found[here] = state_at(self.curves[number], enthalpy).melted
        return found

    def state_of(self, offset: np.ndarray, material: np.ndarray | int) -> np.ndarray:
        """u at a temperature offset over the reference, the inverse of `temperature`; all solid at a melting point."""
        offset = np.asarray(offset, float)
        material = np.broadcast_to(material, offset.shape)
        u = np.empty(offset.shape)
        for number in np.unique(material):
            here = material == number
            own = offset[here]
            u[here] = own if self.constant_capacity[number] else inverse_at(self.temperatures[number], own)
        return u

    def steepest(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(m,) each: the greatest slope of phi(u) and of T(u) where the body is taken to stay, and the least k_ref/k;
        as much to the safe side as the tables may be off."""
        low, high = (end + self.reference for end in self.reached)
        found = []
        for of, k, C in zip(self.curves, self.conductivity, self.capacity, strict=True):
            T = of.temperature
            here = (low <= T) & (high >= T)
            ends = [(np.interp(end, T, of.conductivity), np.interp(end, T, of.capacity)) for end in (low, high)]
            own_k = np.concatenate((of.conductivity[here], [each for each, _ in ends])) / k
            own_c = np.concatenate((of.capacity[here], [each for _, each in ends])) / C
            found.append(((own_k / own_c).max(), (1 / own_c).max(), (1 / own_k).min()))
        potential, temperature, resistivity = np.array(found).T
        margin = np.where(self.straight, 0.0, np.minimum(self.error, 0.1))
        return potential * (1 + margin), temperature * (1 + margin), resistivity * (1 - margin)


def tabulate(
    materials: Sequence[EnthalpyMaterial],
    reference: float,
    reached: tuple[float, float] | None = None,
    *,
    trim: bool = False,
) -> EnthalpyTables:
    """Tables of materials about a reference temperature.

    reached: temperatures between which the body is taken to stay; by default all those between the knots of the
    materials. trim: whether tables hold no more than those, so that searches are short; beyond, the last values go on.
    Raises `ValueError` where enthalpies or potentials are no numbers of 64 bits.
    """
    all_curves = tuple(curves(material) for material in materials)
    units = [_at_reference(material, reference) for material in materials]
    span = reached if trim else None
    found = [
        _Curves(material, of, reference, unit, span)
        for material, of, unit in zip(materials, all_curves, units, strict=True)
    ]
    tables = {
        "potentials": as_table([each.potential for each in found]),
        "temperatures": as_table([each.temperature for each in found]),
        "conductivities": as_table([each.conductivity for each in found]),
        "integrals": as_table([each.integral for each in found]),
    }
    if not all(np.isfinite(table[:, 1:]).all() for table in tables.values()):
        raise ValueError(TOO_LARGE)
    low, high = reached or _span(materials, reference)
    return EnthalpyTables(
        reference=reference,
        conductivity=np.array([k for k, _ in units]),
        capacity=np.array([C for _, C in units]),
        straight=np.array([material.is_linear for material in materials]),
        curves=all_curves,
        origins=np.array([each.origin for each in found]),
        error=np.array([each.error for each in found]),
        reached=(low - reference, high - reference),
        **tables,
    )


def finest_reference(materials: Sequence[EnthalpyMaterial], middle: float, span: tuple[float, float]) -> float:
    """The reference temperature from which temperatures of a span are resolved best, K; `middle` if none is much
    better. Rounding of u moves T by a share of (H(T) - H(T_ref))/C(T), which is large where little heat is held."""
    changing = [curves(each) for each in materials if np.ptp(each.capacity) > 0]
    if not changing or not span[1] > span[0]:
        return middle
    T = np.unique(
        np.concatenate((np.linspace(*span, CANDIDATES), np.geomspace(max(span[0], 1e-3), span[1], CANDIDATES)))
    )
    T = np.append(T[(span[0] <= T) & (span[1] >= T)], middle)
    worst = np.zeros(len(T))
    for of in changing:
        heat, capacity = (np.interp(T, of.temperature, values) for values in (of.enthalpy, of.capacity))
        heat += np.clip(T - of.temperature[-1], 0, None) * of.capacity[-1]
        heat -= np.clip(of.temperature[0] - T, 0, None) * of.capacity[0]
        worst = np.maximum(worst, (np.abs(heat[None] - heat[:, None]) / capacity[None]).max(axis=1))
    return float(T[worst.argmin()]) if worst.min() < MUCH_BETTER * worst[-1] else middle


def _at_reference(material: EnthalpyMaterial, reference: float) -> tuple[float, float]:
    """Conductivity and heat capacity at the reference temperature."""
    T = material.temperature
    return float(np.interp(reference, T, material.conductivity)), float(np.interp(reference, T, material.capacity))


def _span(materials: Sequence[EnthalpyMaterial], reference: float) -> tuple[float, float]:
    """The temperatures that the knots of the materials reach."""
    knots = [v for each in materials if not each.is_linear for v in (each.temperature[0], each.temperature[-1])]
    knots += [v for each in materials if each.latent > 0 for v in (each.solidus, each.liquidus)]
    return float(min(knots, default=reference)), float(max(knots, default=reference))


class _Curves:
    """The pieces of one material: potential and temperature over u, conductivity and potential over offsets; H at
    u = 0; and the error of the worst."""

    def __init__(
        self,
        material: EnthalpyMaterial,
        of: EnthalpyCurves,
        reference: float,
        unit: tuple[float, float],
        span: tuple[float, float] | None,
    ) -> None:
        """unit: k and C at the reference; span: temperatures beyond which the last values go on, if not all."""
        k, C = unit
        self.origin, self.error = enthalpy_at(of, reference), 0.0
        self.potential = self.temperature = self.integral = straight_pieces()
        self.conductivity = pieces_of_lines(np.zeros(1), np.ones(1))
        if material.is_linear:
            return
        zero = state_at(of, np.array(self.origin))
        of = of if span is None else _trimmed(of, *span)
        states = _states(of, self.origin)
        at = state_at(of, states)
        u = (states - self.origin) / C
        if not np.all(np.diff(u) > 0):
            raise ValueError("heat capacities lie so far apart that different enthalpies are the same in 64 bits")
        breaks = np.isin(states, of.enthalpy) if len(of.temperature) <= MANY_KNOTS else np.zeros(len(states), bool)
        T, start = at.temperature - reference, float(zero.potential)
        phi = (at.potential - start) / k
        if not (np.isfinite(phi).all() and np.isfinite(u).all()):
            raise ValueError(TOO_LARGE)
        self.potential = self._fitted(u, phi, breaks, start / k)
        if material.latent > 0 or np.ptp(material.capacity) > 0:
            self.temperature = self._fitted(u, T, breaks, reference)
        self.conductivity = self._of_conductivity(of, k, reference)
        apart = np.append(True, np.diff(T) > MANY_ROUNDINGS * np.finfo(float).eps * np.abs(at.temperature[1:]))
        self.integral = self._fitted(T[apart], phi[apart], breaks[apart], start / k)

    def _fitted(self, x: np.ndarray, y: np.ndarray, breaks: np.ndarray, offset: float) -> np.ndarray:
        pieces, error = fit_pieces(x, y, breaks=breaks, offset=offset)
        self.error = max(self.error, error)
        return pieces

    def _of_conductivity(self, of: EnthalpyCurves, k: float, reference: float) -> np.ndarray:
        """The lines between the knots; where these are many, as of an expression, cubics."""
        knots, values = of.temperature - reference, of.conductivity / k
        if np.ptp(values) == 0:
            knots, values = knots[:1], values[:1]
        lines = pieces_of_lines(knots, values)
        if len(knots) <= MANY_KNOTS:
            return lines
        fitted, error = pieces_through(knots, values)
        self.error = max(self.error, error)
        return fitted


def _trimmed(of: EnthalpyCurves, low: float, high: float) -> EnthalpyCurves:
    """The curves between two temperatures, with the values there beyond them."""
    T, high = of.temperature, high + 1e-9 * (high - low)  # with all of the heat of what melts at the upper end
    inside = (low < T) & (high > T)
    heats = np.array([enthalpy_at(of, end) for end in (low, high)])
    ends = state_at(of, heats)
    capacity = np.interp((low, high), T, of.capacity)

    def between(at_ends: np.ndarray, values: np.ndarray) -> np.ndarray:
        return np.concatenate((at_ends[:1], values[inside], at_ends[1:]))

    return EnthalpyCurves(
        between(np.array([low, high]), T),
        between(ends.conductivity, of.conductivity),
        between(capacity, of.capacity),
        between(heats, of.enthalpy),
        between(ends.potential, of.potential),
        between(ends.melted, of.melted),
    )


def _states(of: EnthalpyCurves, origin: float) -> np.ndarray:
    """Enthalpies through which curves are fitted, in order: of the knots, of as many temperatures between as it takes
    to have k and C change little from one to the next, and one beyond each end. origin: the one at u = 0."""
    T, k, C = of.temperature, of.conductivity, of.capacity
    least = 2 if len(T) > MANY_KNOTS else STATES_OF_PIECE
    with np.errstate(divide="ignore"):
        turns = np.abs(np.diff(np.log(k))) + np.abs(np.diff(np.log(C)))
    turn = max(np.log(RATIO_OF_STATES), float(turns[np.isfinite(turns)].sum()) / MANY_STATES)
    found = [of.enthalpy]
    for i in np.flatnonzero(of.enthalpy[1:] > of.enthalpy[:-1]).tolist():
        count = max(least, int(np.ceil(turns[i] / turn)))
        shares = np.arange(1, count) / count
        if turns[i] > np.log(2.0):  # properties that are linear in T change by equal ratios where shares do
            ratio = np.exp(max(abs(np.log(k[i + 1] / k[i])), abs(np.log(C[i + 1] / C[i]))))
            falls = C[i + 1] < C[i] or (C[i + 1] == C[i] and k[i + 1] < k[i])
            curved = (ratio**shares - 1) / (ratio - 1)
            shares = np.unique(np.concatenate((shares, 1 - curved[::-1] if falls else curved)))
        found.append(_enthalpies_between(of, i, shares))
    inside = np.unique(np.concatenate(found))
    rounding = MANY_ROUNDINGS * np.finfo(float).eps * np.maximum(np.abs(inside[1:]), abs(origin))
    inside = inside[np.append(True, np.diff(inside) > rounding)]
    wide = float(np.ptp(inside)) or 1.0
    return np.concatenate(([inside[0] - wide], inside, [inside[-1] + wide]))


def _enthalpies_between(of: EnthalpyCurves, i: int, shares: np.ndarray) -> np.ndarray:
    """Enthalpies at these shares of the way in T from knot i to the next; in H where T stays."""
    width, whole = of.temperature[i + 1] - of.temperature[i], of.enthalpy[i + 1] - of.enthalpy[i]
    if width == 0:
        return np.asarray(of.enthalpy[i] + shares * whole)
    latent = whole - 0.5 * (of.capacity[i] + of.capacity[i + 1]) * width
    rise = of.capacity[i + 1] - of.capacity[i]
    return np.asarray(of.enthalpy[i] + shares * (latent + width * (of.capacity[i] + 0.5 * rise * shares)))
