"""The cells of a scenario and what passes between them, as docs/methods/discretisation.md has it.

    own material       (phi_j - phi_i) A/(d_i + d_j)                            Kirchhoff's potential
    others, contacts   (T_j - T_i) A/(d_i/k_i + R + d_j/k_j)                    k midway between centre and interface
    a given surface    (phi(T_w) - phi_i) A/d_i
    other surfaces     (T_s - T_i) A/(d_i/k) = A (q + h (T_a - T_s) + eps sigma (T_r^4 - T_s^4))

k of a surface is taken midway between the centre and the surface, found with k at the centre. Of what depends on time,
only uniform inputs are known. Temperatures are in K, powers in W.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import brentq

from random_problems.curves import Curves, library
from random_problems.inputs import Input, trace

STEFAN_BOLTZMANN = 5.670374419e-8  # W/(m2 K4)
ABSOLUTE_ZERO = {"K": 0.0, "degC": -273.15}
AXES = "xyz"


@dataclass
class Pairs:
    """Neighbours i and j: distances to their face over its area, K m/W of a conductivity of 1; contact, K/W."""

    i: np.ndarray
    j: np.ndarray
    own: np.ndarray
    other: np.ndarray
    contact: np.ndarray


class Network:
    """A scenario, as heat balances of its cells."""

    def __init__(self, document: dict[str, Any], folder: Path) -> None:
        self.document, self.folder = document, folder
        self.zero = ABSOLUTE_ZERO[document.get("temperature_unit", "K")]
        self.edges = [self._axis_edges(axis) for axis in range(3)]
        widths = [np.diff(each) for each in self.edges]
        self.centres = [0.5 * (each[1:] + each[:-1]) for each in self.edges]
        self.shape = tuple(len(each) for each in widths[::-1])
        self.widths = widths
        self.volume = np.einsum("i,j,k->ijk", *widths[::-1]).reshape(-1)
        self.points = [each.reshape(-1) for each in np.meshgrid(*self.centres[::-1], indexing="ij")][::-1]
        names = list(dict.fromkeys(region["material"] for region in document["regions"]))
        self.names = names
        self.curves = [self._material(name) for name in names]
        self.material = np.zeros(len(self.volume), int)
        for region in document["regions"]:
            self.material[self._inside(region)] = names.index(region["material"])
        self.cells = [np.flatnonzero(self.material == m) for m in range(len(names))]
        self._contacts = {
            frozenset(each["between"]): float(each["resistance"]) for each in document.get("contacts", ())
        }
        self._join()
        self.faces = [each for each in map(self._face, range(6)) if each is not None]
        self.sources = [self._source(each) for each in document.get("sources", ())]
        initial = document["initial"]["temperature"] - self.zero
        self.initial = np.full(len(self.volume), float(initial))

    # --- from the scenario

    def _axis_edges(self, axis: int) -> np.ndarray:
        grid = self.document["grid"]
        layers = grid.get(AXES[axis], {}).get("layers")
        if layers is None:
            return np.linspace(0.0, grid["size"][axis], grid["cells"][axis] + 1)
        edges = [0.0]
        for layer in layers:
            width = layer["thickness"] / layer["cells"]
            edges += [edges[-1] + width * (n + 1) for n in range(layer["cells"])]
        return np.array(edges)

    def _material(self, name: str) -> Curves:
        given = self.document.get("materials", {}).get(name)
        return Curves(given, self.zero) if given is not None else Curves(library(name), 0.0)

    def _inside(self, region: dict[str, Any]) -> np.ndarray:
        found = np.ones(len(self.volume), bool)
        if "box" in region:
            for at, low, high in zip(self.points, region["box"]["lower"], region["box"]["upper"], strict=True):
                found &= (at > low) & (at < high)
        return found

    def _join(self) -> None:
        number = np.arange(len(self.volume)).reshape(self.shape)
        rows: list[list[np.ndarray]] = []
        for axis in range(3):
            at = 2 - axis
            i, j = (np.take(number, part, at).reshape(-1) for part in self._neighbours(axis))
            half = 0.5 * np.broadcast_to(self._along(axis), self.shape).reshape(-1)
            area = self.volume / (2.0 * half)
            contact = [
                self._contacts.get(frozenset(self.names[self.material[n]] for n in pair), 0.0)
                for pair in zip(i, j, strict=True)
            ]
            rows.append([i, j, half[i] / area[i], half[j] / area[i], np.array(contact, float) / area[i]])
        self.pairs = Pairs(*(np.concatenate(each) for each in zip(*rows, strict=True)))
        same = (self.material[self.pairs.i] == self.material[self.pairs.j]) & (self.pairs.contact == 0)
        self.own, self.mixed = np.flatnonzero(same), np.flatnonzero(~same)

    def _neighbours(self, axis: int) -> tuple[range, range]:
        count = len(self.widths[axis])
        return range(count - 1), range(1, count)

    def _along(self, axis: int) -> np.ndarray:
        return self.widths[axis].reshape([-1 if n == 2 - axis else 1 for n in range(3)])

    def _face(self, face: int) -> Callable[[np.ndarray, float], tuple[np.ndarray, np.ndarray]] | None:
        axis, end = face // 2, face % 2
        given = self.document.get("boundary", {}).get(f"{AXES[axis]}_{'max' if end else 'min'}")
        if given is None or given["kind"] == "insulated":
            return None
        number = np.arange(len(self.volume)).reshape(self.shape)
        cells = np.take(number, -1 if end else 0, 2 - axis).reshape(-1)
        half = 0.5 * float(self.widths[axis][-1 if end else 0])
        area = self.volume[cells] / (2.0 * half)
        media = [(m, np.flatnonzero(self.material[cells] == m)) for m in range(len(self.names))]
        law = Surface(given, self.folder, self.zero)

        def entering(T: np.ndarray, t: float) -> tuple[np.ndarray, np.ndarray]:
            beside, heat = T[cells], np.empty(len(cells))
            for m, here in media:
                if len(here):
                    heat[here] = law.entering(beside[here], half, self.curves[m], t)
            return cells, heat * area

        return entering

    def _source(self, given: dict[str, Any]) -> Callable[[np.ndarray, float], tuple[np.ndarray, np.ndarray]]:
        inside = self._inside(given.get("region", {}))
        if "material" in given:
            inside &= self.material == self.names.index(given["material"])
        cells = np.flatnonzero(inside)
        volume = self.volume[cells]
        share = volume / volume.sum()
        if "trace" in given:
            power = trace(self.folder / given["trace"])
            return lambda T, t: (cells, power(t) * share)
        if "power" in given:
            value = Input(given["power"], self.folder)
            return lambda T, t: (cells, value(t) * share)
        density = Input(given["power_density"], self.folder)
        if density.follows:
            return lambda T, t: (cells, density(t, T=T[cells] + self.zero) * volume)
        return lambda T, t: (cells, density(t) * volume)

    # --- the balances

    def temperature(self, H: np.ndarray) -> np.ndarray:
        return self._by_material(lambda curves, values: curves.temperature(values), H)

    def enthalpy(self, T: np.ndarray) -> np.ndarray:
        return self._by_material(lambda curves, values: curves.enthalpy(values), T)

    def _by_material(self, function: Callable[[Curves, np.ndarray], np.ndarray], values: np.ndarray) -> np.ndarray:
        if len(self.curves) == 1:
            return function(self.curves[0], values)
        found = np.empty(len(values))
        for cells, curves in zip(self.cells, self.curves, strict=True):
            found[cells] = function(curves, values[cells])
        return found

    def heat(self, T: np.ndarray, t: float) -> np.ndarray:
        """(n,) W into each cell."""
        pairs, heat = self.pairs, np.zeros(len(T))
        through = np.empty(len(pairs.i))
        phi = self._by_material(lambda curves, values: curves.potential(values), T)
        own, mixed = self.own, self.mixed
        through[own] = (phi[pairs.j[own]] - phi[pairs.i[own]]) / (pairs.own[own] + pairs.other[own])
        if len(mixed):
            through[mixed] = self._between(T, mixed)
        np.add.at(heat, pairs.i, through)
        np.add.at(heat, pairs.j, -through)
        for each in (*self.faces, *self.sources):
            cells, values = each(T, t)
            heat[cells] += values
        return heat

    def _between(self, T: np.ndarray, pairs: np.ndarray) -> np.ndarray:
        i, j = self.pairs.i[pairs], self.pairs.j[pairs]
        own, other, contact = self.pairs.own[pairs], self.pairs.other[pairs], self.pairs.contact[pairs]
        k_i, k_j = self._conductivity(T, i), self._conductivity(T, j)
        through = (T[j] - T[i]) / (own / k_i + contact + other / k_j)
        ends = T.copy(), T.copy()
        ends[0][i] = T[i] + 0.5 * through * own / k_i
        ends[1][j] = T[j] - 0.5 * through * other / k_j
        k_i, k_j = self._conductivity(ends[0], i), self._conductivity(ends[1], j)
        return np.asarray((T[j] - T[i]) / (own / k_i + contact + other / k_j))

    def _conductivity(self, T: np.ndarray, cells: np.ndarray) -> np.ndarray:
        found, media = np.empty(len(cells)), self.material[cells]
        for m in np.unique(media):
            found[media == m] = self.curves[m].conductivity(T[cells[media == m]])
        return found


class Surface:
    """The law of a boundary face."""

    def __init__(self, given: dict[str, Any], folder: Path, zero: float) -> None:
        self.kind, self.zero = given["kind"], zero
        read = {
            name: Input(given[name], folder)
            for name in ("temperature", "flux", "coefficient", "ambient", "emissivity")
            if name in given
        }
        self.inputs = read
        self.follows = any(each.follows for each in read.values())

    def entering(self, T: np.ndarray, half: float, curves: Curves, t: float) -> np.ndarray:
        """(n,) W/m2 into cells at T, half a cell away."""
        if self.kind == "flux":
            return np.full(len(T), float(self.inputs["flux"](t)))
        if self.kind == "fixed":
            wall = np.full(1, float(self.inputs["temperature"](t)) - self.zero)
            return np.asarray((curves.potential(wall) - curves.potential(T)) / half)
        if self.follows:
            return np.array([self._following(each, half, curves, t) for each in T])
        ambient = float(self.inputs["ambient"](t)) - self.zero
        h = float(self.inputs["coefficient"](t)) if "coefficient" in self.inputs else 0.0
        em = float(self.inputs["emissivity"](t)) * STEFAN_BOLTZMANN if "emissivity" in self.inputs else 0.0
        r = half / curves.conductivity(T)
        first = _balance(T, r, h, em, ambient)
        return _balance(T, half / curves.conductivity(T + 0.5 * r * first), h, em, ambient)

    def _following(self, T: float, half: float, curves: Curves, t: float) -> float:
        """A coefficient or an emissivity that follows the temperature of the surface."""
        ambient = float(self.inputs["ambient"](t)) - self.zero

        def law(x: float) -> float:
            given = {name: each(t, T=x + self.zero) for name, each in self.inputs.items()}
            radiated = given.get("emissivity", 0.0) * STEFAN_BOLTZMANN * (ambient**4 - x**4)
            return float(given.get("coefficient", 0.0) * (ambient - x) + radiated)

        def through(x: float) -> float:
            k = float(curves.conductivity(np.array([0.5 * (T + x)]))[0])
            return (x - T) * k / half

        ends = sorted((T, ambient))
        if ends[0] == ends[1]:
            return 0.0
        return through(brentq(lambda x: through(x) - law(x), *ends, xtol=1e-12 * ends[1], rtol=1e-13))


def _balance(T: np.ndarray, r: np.ndarray, h: float, em: float, ambient: float) -> np.ndarray:
    if em == 0:
        return np.asarray(h * (ambient - T) / (1.0 + h * r))
    x = np.maximum(T, ambient)
    for _ in range(60):
        over = (x - T) / r - h * (ambient - x) - em * (ambient**4 - x**4)
        moved = over / (1.0 / r + h + 4.0 * em * x**3)
        x = x - moved
        if np.all(np.abs(moved) <= 1e-14 * x):
            break
    return np.asarray((x - T) / r)
