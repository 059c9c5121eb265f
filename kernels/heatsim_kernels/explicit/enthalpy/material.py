"""A material that depends on temperature: conductivity, heat capacity and latent heat, as exact curves of its enthalpy.

    H(T) = integral of C dT  +  L * (share that has melted)          J/m3
    Phi(T) = integral of k dT                                        W/m     (Kirchhoff's transformation)

C and k are linear between knots, so H and Phi are quadratic there and T(H) is a square root: no error but rounding.
Source: Carslaw and Jaeger, Conduction of Heat in Solids, 2nd ed. 1959, sections 1.6 and 11.2; Crank, Free and Moving
Boundary Problems, 1984, section 6.2 (enthalpy).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np


@dataclass(frozen=True)
class EnthalpyMaterial:
    """Properties at knots of temperature, linear between them and constant outside.

    temperature: (p,) K, or any scale with such steps; p >= 1. One given twice is a jump of the properties.
    conductivity: (p,) W/(m K), > 0; of the x axis, say, if other axes differ by factors.
    capacity: (p,) J/(m3 K), > 0; without latent heat.
    latent: J/m3, taken up evenly between `solidus` and `liquidus`, which may be equal.
    Raises ValueError for what is none of this.
    """

    temperature: np.ndarray
    conductivity: np.ndarray
    capacity: np.ndarray
    latent: float = 0.0
    solidus: float = 0.0
    liquidus: float = 0.0

    def __post_init__(self) -> None:
        shape = np.shape(self.temperature)
        if len(shape) != 1 or shape[0] < 1 or np.shape(self.conductivity) != shape or np.shape(self.capacity) != shape:
            raise ValueError("temperature, conductivity and capacity must be tables of the same length")
        for name, values in (("conductivity", self.conductivity), ("heat capacity", self.capacity)):
            if not (np.all(np.isfinite(values)) and np.min(values) > 0):
                raise ValueError(f"{name} must be positive at all temperatures, found {np.min(values):g}")
        if not np.all(np.diff(self.temperature) >= 0):
            raise ValueError("temperatures of a table must increase")
        if not (self.latent >= 0 and (self.latent == 0 or self.solidus <= self.liquidus)):
            raise ValueError("latent heat must not be negative, nor the liquidus below the solidus")

    @classmethod
    def constant(cls, conductivity: float, capacity: float) -> EnthalpyMaterial:
        """The same at all temperatures."""
        return cls(np.zeros(1), np.array([conductivity]), np.array([capacity]))

    @classmethod
    def sampled(
        cls,
        conductivity: Callable[[np.ndarray], np.ndarray],
        capacity: Callable[[np.ndarray], np.ndarray],
        low: float,
        high: float,
        points: int = 4097,
        **latent: float,
    ) -> EnthalpyMaterial:
        """From functions of temperature, at equal steps from `low` to `high`."""
        T = np.linspace(low, high, points)
        return cls(T, np.broadcast_to(conductivity(T), T.shape), np.broadcast_to(capacity(T), T.shape), **latent)

    @property
    def is_linear(self) -> bool:
        """Whether nothing depends on temperature."""
        return self.latent == 0 and np.ptp(self.conductivity) == 0 and np.ptp(self.capacity) == 0


class EnthalpyCurves(NamedTuple):
    """A material at its knots, (p,), with knots at solidus and liquidus; enthalpy and Phi count from the first one."""

    temperature: np.ndarray
    conductivity: np.ndarray
    capacity: np.ndarray
    enthalpy: np.ndarray
    potential: np.ndarray
    melted: np.ndarray


class EnthalpyState(NamedTuple):
    """What a material is like at some enthalpies."""

    temperature: np.ndarray
    conductivity: np.ndarray
    potential: np.ndarray
    melted: np.ndarray


def curves(material: EnthalpyMaterial) -> EnthalpyCurves:
    """The curves of a material: exact integrals over its knots."""
    T, k, C = (np.asarray(v, float) for v in (material.temperature, material.conductivity, material.capacity))
    melted = np.zeros(len(T))
    if len(T) == 1:  # two knots make one piece, of any length
        T, k, C, melted = np.array([T[0], T[0] + 1.0]), k.repeat(2), C.repeat(2), melted.repeat(2)
    if material.latent > 0:
        T, k, C = _with_knots(T, k, C, material.solidus, material.liquidus)
        melted = _melted_at_knots(T, material)
    width = np.diff(T)
    heat = 0.5 * (C[1:] + C[:-1]) * width + material.latent * np.diff(melted)
    potential = 0.5 * (k[1:] + k[:-1]) * width
    enthalpy, potential = (np.concatenate(([0.0], np.cumsum(v))) for v in (heat, potential))
    return EnthalpyCurves(T, k, C, enthalpy, potential, melted)


def _with_knots(T: np.ndarray, k: np.ndarray, C: np.ndarray, solidus: float, liquidus: float) -> tuple[np.ndarray, ...]:
    """Knots at solidus and liquidus added; two of them where these are equal."""
    for number, at in enumerate((solidus, liquidus)):
        if np.count_nonzero(at == T) < (2 if number and solidus == liquidus else 1):
            values = np.interp(at, T, k), np.interp(at, T, C)
            i = np.searchsorted(T, at, side="right")
            T, k, C = np.insert(T, i, at), np.insert(k, i, values[0]), np.insert(C, i, values[1])
    return T, k, C


def _melted_at_knots(T: np.ndarray, material: EnthalpyMaterial) -> np.ndarray:
    if material.solidus < material.liquidus:
        return np.clip((T - material.solidus) / (material.liquidus - material.solidus), 0, 1)
    melted = (material.liquidus < T).astype(float)
    melted[np.flatnonzero(material.liquidus == T)[1:]] = 1.0
    return melted


def state_at(of: EnthalpyCurves, enthalpy: np.ndarray) -> EnthalpyState:
    """Temperature, conductivity, potential and melted share at enthalpies; outside the knots with their end values."""
    h = np.asarray(enthalpy, float)
    i = np.clip(np.searchsorted(of.enthalpy, h, side="right") - 1, 0, len(of.temperature) - 2)
    heat = h - of.enthalpy[i]
    width, whole = np.diff(of.temperature)[i], np.diff(of.enthalpy)[i]
    jump = width == 0
    safe = np.where(jump, 1.0, width)
    latent = np.where(jump, 0.0, whole / safe - 0.5 * (of.capacity[i] + of.capacity[i + 1]))
    start, slope = of.capacity[i] + latent, (of.capacity[i + 1] - of.capacity[i]) / safe
    root = np.sqrt(np.maximum(start**2 + 2 * slope * heat, 0))
    t = np.where(jump, 0.0, 2 * heat / (start + root))
    share = np.where(jump, heat / np.where(whole > 0, whole, 1.0), t / safe)
    k = of.conductivity[i] + share * (of.conductivity[i + 1] - of.conductivity[i])
    found = EnthalpyState(
        of.temperature[i] + t,
        k,
        of.potential[i] + t * 0.5 * (of.conductivity[i] + k),
        of.melted[i] + share * (of.melted[i + 1] - of.melted[i]),
    )
    return _continued(of, h, found)


def _continued(of: EnthalpyCurves, h: np.ndarray, found: EnthalpyState) -> EnthalpyState:
    """The state, outside the knots replaced by the linear continuation of H and Phi."""
    for end, outside in ((0, h < of.enthalpy[0]), (-1, h > of.enthalpy[-1])):
        t = (h - of.enthalpy[end]) / of.capacity[end]
        k = of.conductivity[end]
        beyond = EnthalpyState(of.temperature[end] + t, k, of.potential[end] + k * t, of.melted[end])
        found = EnthalpyState(*(np.where(outside, new, old) for new, old in zip(beyond, found, strict=True)))
    return found


def enthalpy_at(of: EnthalpyCurves, temperature: float) -> float:
    """Enthalpy at a temperature; at a jump, the lower."""
    T = of.temperature
    if temperature <= T[0]:
        return float((temperature - T[0]) * of.capacity[0])
    if temperature > T[-1]:
        return float(of.enthalpy[-1] + (temperature - T[-1]) * of.capacity[-1])
    i = int(np.searchsorted(T, temperature, side="left")) - 1
    t, width = temperature - T[i], T[i + 1] - T[i]
    latent = (of.enthalpy[i + 1] - of.enthalpy[i]) / width - 0.5 * (of.capacity[i] + of.capacity[i + 1])
    slope = (of.capacity[i + 1] - of.capacity[i]) / width
    return float(of.enthalpy[i] + t * (of.capacity[i] + latent + 0.5 * slope * t))
