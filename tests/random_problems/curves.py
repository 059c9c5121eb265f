"""Curves of a material: H(T), its inverse and Kirchhoff's potential, from the properties that a scenario gives.

Properties are taken as straight lines between knots of temperature. An expression is sampled until straight lines
follow it to FOLLOWED of its value; its jumps are enclosed. H and the potential are then exact, and so is T(H).
Temperatures are in K.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from random_problems.inputs import compiled

LIBRARY = Path(__file__).parents[2] / "scenarios" / "materials"
FOLLOWED = 1e-8
NARROWEST = 1e-9  # of the temperature: two knots of a jump
LOWEST, HIGHEST = 1e-3, 8000.0  # K, of the first knots
TINY = 1e-300
Property = Callable[[np.ndarray], np.ndarray]


def library(name: str) -> dict[str, Any]:
    for file in sorted(LIBRARY.glob("*.toml")):
        found = tomllib.loads(file.read_text()).get(name)
        if isinstance(found, dict) and "density" in found:
            return found
    raise KeyError(name)


class Curves:
    """A material, given as in a scenario; zero: 0 K in the unit of its temperatures."""

    def __init__(self, given: dict[str, Any], zero: float) -> None:
        self.zero = zero
        knots = np.concatenate(([0.0], np.geomspace(LOWEST, HIGHEST, 1200)))
        tables = [each for each in (given["conductivity"], given["heat_capacity"]) if isinstance(each, dict)]
        for each in tables:
            knots = np.union1d(knots, np.array(each["T"]) - zero)
        k, c = (self._property(given[name]) for name in ("conductivity", "heat_capacity"))
        if any(isinstance(given[name], str) for name in ("conductivity", "heat_capacity")):
            knots = _refined(knots, (k, c))
        density, latent = given["density"], given.get("latent")
        C, melted = density * c(knots), np.zeros(len(knots))
        if latent:
            knots, C, melted = _with_melting(knots, C, latent["solidus"] - zero, latent["liquidus"] - zero)
        self.T, self.k, self.C = map(np.ascontiguousarray, (knots, k(knots), C))
        self._width = width = np.diff(knots)
        heat = 0.5 * (C[1:] + C[:-1]) * width + (density * latent["heat"] if latent else 0.0) * np.diff(melted)
        self.H = np.concatenate(([0.0], np.cumsum(heat)))
        safe = np.where(width > 0, width, 1.0)  # where all melts at one temperature, no step is taken
        self._slope, self._rise = np.diff(self.k) / safe, np.where(width > 0, np.diff(C) / safe, 0.0)
        self._start = np.where(width > 0, heat / safe - 0.5 * self._rise * width, 1.0)  # latent heat included
        self.Phi = np.concatenate(([0.0], np.cumsum(0.5 * (self.k[1:] + self.k[:-1]) * width)))

    def _property(self, value: Any) -> Property:
        if isinstance(value, dict):
            T, values = np.array(value["T"]) - self.zero, np.array(value["value"])
            return lambda at: np.interp(at, T, values)
        if isinstance(value, str):
            expression = compiled(value)
            least = LOWEST + self.zero  # T^n has no logarithm, and no inverse, at 0 K
            return lambda at: np.broadcast_to(
                np.asarray(expression(T=np.maximum(at + self.zero, least)), float), at.shape
            )
        return lambda at: np.full(at.shape, float(value))

    def _place(self, knots: np.ndarray, values: np.ndarray) -> np.ndarray:
        return np.minimum(np.maximum(np.searchsorted(knots, values, side="right") - 1, 0), len(knots) - 2)

    def temperature(self, H: np.ndarray) -> np.ndarray:
        i = self._place(self.H, H)
        heat, start = H - self.H[i], self._start[i]
        root = np.sqrt(np.maximum(start * start + 2.0 * self._rise[i] * heat, 0.0))
        return self.T[i] + np.minimum(2.0 * heat / np.maximum(start + root, TINY), self._width[i])

    def enthalpy(self, T: np.ndarray) -> np.ndarray:
        """At a jump, the lower."""
        i = np.clip(np.searchsorted(self.T, T, side="left") - 1, 0, len(self.T) - 2)
        step = T - self.T[i]
        return self.H[i] + step * (self._start[i] + 0.5 * self._rise[i] * step)

    def potential(self, T: np.ndarray) -> np.ndarray:
        i = self._place(self.T, T)
        step = T - self.T[i]
        return self.Phi[i] + step * (self.k[i] + 0.5 * self._slope[i] * step)

    def conductivity(self, T: np.ndarray) -> np.ndarray:
        i = self._place(self.T, T)
        return self.k[i] + self._slope[i] * (T - self.T[i])


def _refined(knots: np.ndarray, properties: tuple[Property, ...]) -> np.ndarray:
    """Knots between which straight lines follow the properties: intervals are halved until they do, or are as narrow
    as a jump."""
    left, right = knots[:-1], knots[1:]
    found = [knots]
    while left.size:
        middle, width = 0.5 * (left + right), right - left
        bad = np.zeros(left.shape, bool)
        for each in properties:
            ends = each(left), each(right)
            for share in (0.27, 0.5, 0.71):
                line = ends[0] + share * (ends[1] - ends[0])
                bad |= np.abs(each(left + share * width) - line) > FOLLOWED * np.abs(line)
        bad &= width > NARROWEST * np.maximum(right, LOWEST)
        found.append(middle[bad])
        left, right = np.concatenate((left[bad], middle[bad])), np.concatenate((middle[bad], right[bad]))
    return np.unique(np.concatenate(found))


def _with_melting(T: np.ndarray, C: np.ndarray, solidus: float, liquidus: float) -> tuple[np.ndarray, ...]:
    """Knots at solidus and liquidus, two where they are the same; the share that has melted at each knot."""
    for at in {solidus, liquidus}:
        if at not in T:
            i = int(np.searchsorted(T, at))
            T, C = np.insert(T, i, at), np.insert(C, i, np.interp(at, T, C))
    if solidus < liquidus:
        return T, C, np.clip((T - solidus) / (liquidus - solidus), 0.0, 1.0)
    i = int(np.searchsorted(T, liquidus))
    T, C = np.insert(T, i, liquidus), np.insert(C, i, C[i])
    return T, C, (np.arange(len(T)) > i).astype(float)
