"""Media: the materials of a scenario, then its ambients, and how well they conduct to each other.

Temperature-dependent properties become curves in kelvin for the kernels. Expressions in T are taken at so many points
that straight lines between these are as good (`heatsim_kernels.explicit.enthalpy.sampling`), from next to absolute zero
up to the highest temperature that may be reached. They have to be finite and positive wherever the initial, boundary
and ambient temperatures lie. Sources may drive a body further: there an expression holds as far as it stays positive,
and from where it fails on with its last value, as a table does.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from heatsim_kernels.explicit.enthalpy import material as kernel
from heatsim_kernels.explicit.enthalpy.lookup_tables import EnthalpyTables
from heatsim_kernels.explicit.enthalpy.sampling import points_of_curves

from heatsim.errors import ScenarioError
from heatsim.problem.shapes.point_values import describe_times, evaluate, require_at_least, require_finite
from heatsim.scenario import Expression, Scenario
from heatsim.scenario.language.expressions.expression import depends_on
from heatsim.scenario.language.expressions.ranges import narrow_places
from heatsim.scenario.language.value_types import MAX_MAGNITUDE
from heatsim.scenario.materials import CONDUCTIVITY, HEAT_CAPACITY, Ambient, AnyMaterial, PropertyTable, Void
from heatsim.scenario.model import find_material_dependence

EXPRESSION_POINTS = 8193  # at which an expression is looked at first, and between them by its bounds
CAPACITY_SAMPLES = 1025  # at which the least of a heat capacity by expression is looked for
COLDEST_SHARE = 1e-3  # of the lowest temperature known: properties are tabulated from there on
FAILING = 0.01  # of the least value at temperatures that are sure to occur: an expression that falls below has failed
FAILING_COLD = 1e-9  # the same, for what is colder: capacities fall by the third power of T
MELTING_OF_STEADY = 1e-6  # K, times the heat capacity, in place of a latent heat: it says what has melted
UNITS = {"conductivity": CONDUCTIVITY.unit, "heat_capacity": HEAT_CAPACITY.unit}  # of the temperature-dependent

Range = tuple[float, float]


@dataclass(frozen=True)
class Materials:
    """Media 0 to solids - 1 are materials, those from there on ambients.

    conductivity: (3, m) along x, y, z, W/(m K), of ambients 1, which is not used.
    capacity: (m,) J/(m3 K), of ambients 0. Both are NaN where they depend on temperature and no reference is known yet.
    surface: (m,) surface resistance towards an ambient, m2 K/W; infinite where heat comes by the surface's balance, and
    towards voids, the last ambients.
    contact: (m, m) contact resistance, m2 K/W; infinite where it depends on time or temperature.
    temperature: of each ambient at t = 0, in the scenario's unit; NaN of voids.
    """

    solids: int
    conductivity: np.ndarray
    capacity: np.ndarray
    surface: np.ndarray
    contact: np.ndarray
    temperature: np.ndarray

    @property
    def exchanging(self) -> int:
        """How many ambients are no voids."""
        return int(np.isfinite(self.temperature).sum())

    def at_reference(self, tables: EnthalpyTables) -> Materials:
        """The same with temperature-dependent properties as they are at the reference of the tables, and with the
        capacities that these count in."""
        ambients = self.conductivity.shape[1] - self.solids
        k = np.append(tables.conductivity[: self.solids], np.ones(ambients))
        C = np.append(tables.capacity[: self.solids], np.zeros(ambients))
        conductivity = np.where(np.isnan(self.conductivity), k, self.conductivity)
        return replace(self, conductivity=conductivity, capacity=C)


def make_materials(scenario: Scenario) -> Materials:
    """The materials and ambients of a scenario."""
    names, materials = list(scenario.materials), list(scenario.materials.values())
    ambients = list(scenario.ambients.values())
    solids, count = len(materials), len(materials) + len(ambients)
    contact = np.zeros((count, count))
    for each in scenario.contacts:
        one, other = (names.index(name) for name in each.between)
        if one != other:
            value = np.inf if each.varies else float(evaluate(each.resistance, ())[()])
            contact[one, other] = contact[other, one] = value
    by_surface = ambients_by_surface(scenario)
    surface = [0.0] * solids + [_surface_resistance(*each) for each in zip(ambients, by_surface, strict=True)]
    return Materials(
        solids,
        np.array([conductivity(material) for material in materials] + [(1.0, 1.0, 1.0)] * len(ambients)).T,
        np.array([volumetric_capacity(material) for material in materials] + [0.0] * len(ambients)),
        np.array(surface),
        contact,
        np.append(ambient_temperatures(scenario, np.zeros(1)), [np.nan] * scenario.void_count),
    )


def ambients_by_surface(scenario: Scenario) -> list[bool]:
    """Of each ambient, whether its heat follows from the balance at the surface: beside a material that depends on
    temperature also that of one whose temperature depends on time, unless the integrator solves."""
    changing = find_material_dependence(scenario) is not None and not scenario.time.solves
    return [each.by_surface or (changing and depends_on(each.temperature, "t")) for each in scenario.ambients.values()]


def _surface_resistance(ambient: Ambient, by_surface: bool) -> float:
    if by_surface or isinstance(ambient, Void):
        return np.inf
    if ambient.resistance is not None:
        return ambient.resistance
    return 1.0 / float(evaluate(ambient.coefficient or 1.0, (1,))[0])


def ambient_temperatures(scenario: Scenario, times: np.ndarray) -> np.ndarray:
    """(k, m) temperatures of the m ambients but voids at k times, s, in the scenario's unit. Raises `ScenarioError` for
    one that is not finite or below absolute zero."""
    unit, when = scenario.unit, describe_times(times)
    found = np.empty((len(times), len(scenario.exchanging_ambients)))
    for number, (name, ambient) in enumerate(scenario.exchanging_ambients.items()):
        key, values = ("ambients", name, "temperature"), evaluate(ambient.temperature, times.shape, t=times)
        require_finite(scenario, key, values, when)
        require_at_least(scenario, key, values, scenario.zero, f"{unit} (absolute zero)", when)
        found[:, number] = values
    return found


def conductivity(material: AnyMaterial) -> tuple[float, float, float]:
    """Conductivity along x, y, z, W/(m K); not a number where it depends on temperature."""
    k = material.conductivity
    if isinstance(k, tuple):
        return k
    if not isinstance(k, float):
        return np.nan, np.nan, np.nan
    return k, k, k


def volumetric_capacity(material: AnyMaterial) -> float:
    """Heat capacity of a unit volume, J/(m3 K); not a number where it depends on temperature."""
    c = material.heat_capacity
    return material.density * c if isinstance(c, float) else np.nan


def conductivity_at(material: AnyMaterial, T: np.ndarray) -> np.ndarray:
    """Conductivity at temperatures in the scenario's unit, W/(m K)."""
    return _values(material.conductivity, T)


class TemperatureBounds(NamedTuple):
    """Temperatures that are sure to occur, all that may be reached, and these with a margin: least and greatest, K; the
    highest to which bounds go that have no end; and whether the upper one of what may be reached is such a bound."""

    known: Range
    reached: Range
    possible: Range
    hottest: float
    open_above: bool = False


class MaterialProperties(NamedTuple):
    """A material of the kernels, and the temperatures for which the scenario says what it is like, K."""

    material: kernel.EnthalpyMaterial
    documented: Range


def material_properties(scenario: Scenario, name: str, bounds: TemperatureBounds) -> MaterialProperties:
    """The properties of a material; of a steady state those that it depends on, with one heat capacity.

    Raises `ScenarioError` for an expression that is not finite and positive at a temperature that is sure to occur.
    """
    given = scenario.materials[name]
    zero = scenario.zero
    knots, documented = _knots(given, zero, bounds)
    k, c = _at(given, knots + zero)
    for key, values in zip(UNITS, (k, c), strict=True):
        _require_positive(scenario, name, key, values, knots, bounds.known)
    good = _unbroken(knots, bounds.known, k, c)
    knots, k, c = knots[good], k[good], c[good]
    if scenario.time.is_steady:
        c = np.full(len(knots), float(np.interp(sum(bounds.known) / 2, knots, c)))
    if not isinstance(given.conductivity, PropertyTable | Expression) and np.ptp(c) == 0:
        knots, k, c = knots[:1], k[:1], c[:1]
    elif any(isinstance(getattr(given, key), Expression) for key in UNITS):
        documented = max(documented[0], float(knots[0])), min(documented[1], float(knots[-1]))
        knots = points_of_curves(lambda T: np.stack(_at(given, T + zero)), knots)
        k, own = _at(given, knots + zero)
        c = np.full(len(knots), c[0]) if scenario.time.is_steady else own
    latent = _latent(given, zero)
    if latent and scenario.time.is_steady:
        latent["latent"] = MELTING_OF_STEADY * given.density * float(c[0])
    return MaterialProperties(kernel.EnthalpyMaterial(knots, k, given.density * c, **latent), documented)


def _at(given: AnyMaterial, T: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Conductivity and specific heat capacity at temperatures in the scenario's unit."""
    k, c = (_values(getattr(given, key), T) for key in UNITS)
    return k, c


def least_capacity(scenario: Scenario, reached: Range) -> float:
    """The least heat capacity of any material between two temperatures, K, in J/(m3 K)."""
    low, high = (end + scenario.zero for end in reached)
    found = []
    for each in scenario.materials.values():
        given = each.heat_capacity
        knots = [T for T in given.T if low < T < high] if isinstance(given, PropertyTable) else []
        T = np.array([*np.linspace(low, high, CAPACITY_SAMPLES), *knots])
        T = np.array([*T, *(narrow_places(given, T, scenario.zero) if isinstance(given, Expression) else ())])
        found.append(each.density * float(np.nanmin(_values(given, T), initial=np.inf)))
    return max(min(found), np.finfo(float).tiny)


def _knots(given: AnyMaterial, zero: float, bounds: TemperatureBounds) -> tuple[np.ndarray, Range]:
    """Temperatures at which to take the properties first, and the range of the tables among them, K."""
    tables = [getattr(given, key) for key in UNITS if isinstance(getattr(given, key), PropertyTable)]
    knots = [np.array(table.T) - zero for table in tables]
    documented = max((each[0] for each in knots), default=-np.inf), min((each[-1] for each in knots), default=np.inf)
    if any(isinstance(getattr(given, key), Expression) for key in UNITS):
        first = np.unique(np.concatenate([*knots, *_first_points(bounds), np.array(bounds.known)]))
        knots = [first, *(_narrow(getattr(given, key), first, zero) for key in UNITS)]
    return np.unique(np.concatenate(knots)) if knots else np.zeros(1), documented


def _narrow(value: object, T: np.ndarray, zero: float) -> np.ndarray:
    """Temperatures, K, beside those `T` at which a property by expression has what is narrow."""
    return narrow_places(value, T + zero, zero) - zero if isinstance(value, Expression) else np.empty(0)


def _first_points(bounds: TemperatureBounds) -> tuple[np.ndarray, ...]:
    """Temperatures at which an expression is looked at first, K: in equal steps over all, closer among those that are
    sure to occur, and in equal ratios towards absolute zero."""
    (low, high), hottest = bounds.known, max(bounds.hottest, bounds.possible[1])
    lowest = max(COLDEST_SHARE * min(each for each in (low, high, hottest) if each > 0), np.finfo(float).tiny)
    return (
        np.linspace(0.0, hottest, EXPRESSION_POINTS),
        np.linspace(low, high, EXPRESSION_POINTS // 4),
        np.geomspace(lowest, hottest, EXPRESSION_POINTS // 8),
    )


def _values(value: object, T: np.ndarray) -> np.ndarray:
    """A property at temperatures in the scenario's unit; of anisotropic conductivities that along x."""
    if isinstance(value, Expression):
        return np.broadcast_to(value(T=T), T.shape)
    if isinstance(value, PropertyTable):
        return np.asarray(np.interp(T, value.T, value.value))
    return np.full(T.shape, value[0] if isinstance(value, tuple) else value)


def _require_positive(
    scenario: Scenario, name: str, key: str, values: np.ndarray, knots: np.ndarray, known: Range
) -> None:
    here = (knots >= known[0]) & (knots <= known[1]) & (knots > 0)  # nothing gets as cold as space at absolute zero
    bad = here & ~((values > 0) & (values <= MAX_MAGNITUDE))
    if bad.any():
        zero, unit = scenario.zero, scenario.unit
        low, high = (each + zero for each in known)
        at = f"{values[bad][0]:.6g} at T = {knots[bad][0] + zero:.6g}"
        message = f"expected values > 0 ({UNITS[key]}) for T from {low:.6g} to {high:.6g} {unit}, found {at}"
        hint = "the temperatures of the initial state, the faces and the ambients lie between these"
        raise ScenarioError([scenario.issue_at(("materials", name, key), message, hint)])


def _unbroken(knots: np.ndarray, known: Range, *properties: np.ndarray) -> slice:
    """The knots around the known temperatures at which no property fails."""
    here, colder = (knots >= known[0]) & (knots <= known[1]), knots < known[0]
    good = np.ones(len(knots), bool)
    for values in properties:
        with np.errstate(invalid="ignore"):
            positive = np.isfinite(values) & (values > 0)
            least = values[here & positive].min() if (here & positive).any() else 0.0
            good &= positive & (here | (values > np.where(colder, FAILING_COLD, FAILING) * least))
    failed = np.flatnonzero(~good)
    middle = next(iter(np.flatnonzero(good & ~colder).tolist()), len(knots))
    below, above = failed[failed < middle], failed[failed >= middle]
    return slice(int(below[-1]) + 1 if below.size else 0, int(above[0]) if above.size else len(knots))


def _latent(given: AnyMaterial, zero: float) -> dict[str, float]:
    melting = given.latent
    if melting is None:
        return {}
    return {
        "latent": given.density * melting.heat,
        "solidus": melting.solidus - zero,
        "liquidus": melting.liquidus - zero,
    }
