"""Nonlinear problems, in which properties, melting, radiation or coefficients depend on temperature.

What a linear problem has as constants comes here from tables over the enthalpy (`heatsim_kernels.explicit.enthalpy`),
which count in kelvin whatever the scenario's unit is. Ambients are cells of one more material, of prescribed
temperature.

**Boundary factors.** A coefficient or emissivity that depends on the temperature of its surface is a product of a part
in x, y, z, t, which `SurfaceConditions` treats as any other, and a factor in T alone. Factors become curves over all
temperatures that may be reached (`temperature_bounds`), between which the surface lies as the body does; beyond, where
rounding alone leads, the last values hold.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from heatsim_kernels.explicit.coefficients import StencilCoefficients
from heatsim_kernels.explicit.enthalpy import material as kernel
from heatsim_kernels.explicit.enthalpy.coefficients import (
    BoundaryFactors,
    GridLayout,
    NonlinearCoefficients,
    nonlinear_coefficients,
)
from heatsim_kernels.explicit.enthalpy.lookup_tables import EnthalpyTables, finest_reference, tabulate
from heatsim_kernels.explicit.enthalpy.pieces import as_table, pieces_through
from heatsim_kernels.explicit.enthalpy.sampling import points_of_curves

from heatsim.errors import ScenarioError
from heatsim.problem.media.cell_classes import CellClasses
from heatsim.problem.media.materials import Materials, Range, TemperatureBounds, material_properties
from heatsim.problem.temperature_bounds import sample_times
from heatsim.problem.terms.boundary_faces import BoundaryFaces
from heatsim.scenario import Expression, Scenario
from heatsim.scenario.language.expressions.expression import separate_temperature
from heatsim.scenario.language.expressions.ranges import narrow_places
from heatsim.scenario.language.toml.positions import Key
from heatsim.scenario.language.value_types import Number

FACTOR_POINTS = 2049  # at which a factor is looked at first
FACTOR_TOLERANCE = 1e-4  # of its local value
NARROWEST_K = 1e-6  # where a factor has an infinite slope, as (T - 20)**0.25 at 20
UNTABULATED_HINT = "heat capacities, or a solidus and a liquidus, may differ by too many powers of ten"
HINT = "the surface may be as warm or cold as this: abs, max or min, as in max(T - 20, 0), keep it in bounds"


class TabulatedMaterials(NamedTuple):
    """Materials over the enthalpy, temperatures as offsets from the reference, K.

    documented: for each material the range in which the scenario documents its properties; beyond it the last values
        hold.
    reached: the range that the problem may reach; bounds: the same and more, in kelvin.
    """

    materials: EnthalpyTables
    documented: tuple[Range, ...]
    reached: Range
    bounds: TemperatureBounds

    @property
    def hottest(self) -> float:
        """The highest temperature that steps are made for where there is no sure bound, K; else 0."""
        return self.bounds.reached[1] if self.bounds.open_above else 0.0


def tabulate_materials(
    scenario: Scenario, reference: float, bounds: TemperatureBounds, *, may_move: bool
) -> tuple[float, TabulatedMaterials]:
    """The materials about a reference, in the scenario's unit, and that: the given one, or one about which the state
    resolves temperatures far better, if it `may_move`.

    Raises `ScenarioError` as `material_properties` does, and for properties that have no finite enthalpy.
    """
    found = [material_properties(scenario, name, bounds) for name in scenario.materials]
    materials = [each.material for each in found]
    ambient = [kernel.EnthalpyMaterial.constant(1.0, 1.0)] if scenario.ambients else []
    try:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            middle = reference - scenario.zero
            middle = finest_reference(materials, middle, bounds.known) if may_move else middle
            tables = tabulate(materials + ambient, middle, bounds.possible, trim=not bounds.open_above)
    except (ValueError, OverflowError) as error:
        message = f"expected properties whose heat content can be tabulated: {error}"
        raise ScenarioError([scenario.issue_at(("materials",), message, UNTABULATED_HINT)]) from None
    documented = tuple((first - middle, last - middle) for first, last in (each.documented for each in found))
    low, high = bounds.reached
    reached = low - middle, high - middle
    tabulated = TabulatedMaterials(tables, documented, reached, bounds)
    return middle + scenario.zero, tabulated


def make_nonlinear_coefficients(
    linear: StencilCoefficients,
    cell_classes: CellClasses,
    materials: Materials,
    zone_materials: np.ndarray,
    tables: EnthalpyTables,
    factors: BoundaryFactors | None,
) -> NonlinearCoefficients:
    """The terms of a problem, from those that it would have if nothing departed from the reference."""
    own = zone_materials[cell_classes.zone]
    layout = GridLayout(*(getattr(linear, name) for name in GridLayout._fields))
    return nonlinear_coefficients(
        layout,
        tables,
        np.where(own < materials.solids, cell_classes.volume, 0.0),
        np.minimum(own, materials.solids),
        np.minimum(cell_classes.beyond, materials.solids),
        cell_classes.faces,
        factors,
    )


def tabulate_boundary_factors(
    scenario: Scenario,
    boundary_faces: BoundaryFaces,
    entries: np.ndarray | None,
    tables: TabulatedMaterials,
) -> BoundaryFactors | None:
    """The factors of the faces, or None if there are none; `entries` as for `SurfaceConditions`.

    Raises `ScenarioError` for one that is negative or not finite at a temperature that may be reached, and for an
    emissivity above 1.
    """
    low, high = (boundary_faces.reference + end for end in tables.reached)
    T = np.unique(_round(np.linspace(low, high, FACTOR_POINTS)))
    places: dict[Expression, np.ndarray] = {}  # of each factor, which several faces may have
    number = np.zeros(boundary_faces.starts[-1], np.uint32)
    for patch in boundary_faces:
        name = patch.condition.STRENGTH
        factor = separate_temperature(patch.condition.inputs[name])[1] if name else None
        if factor is not None:
            most = float(boundary_faces.checked(patch, name, sample_times(scenario)).max())
            range_of_values = patch.condition.numbers()[name]
            if factor not in places:
                places[factor] = np.unique(_round(np.append(T, narrow_places(factor, T, scenario.zero))))
            at = places[factor]
            _require_range(scenario, (*patch.key, name), at, _at(factor, at), most, range_of_values)
            of_face = number[boundary_faces.starts[patch.face] : boundary_faces.starts[patch.face + 1]]
            of_face[patch.cells] = list(places).index(factor) + 1
    if not places:
        return None
    pieces = as_table([_pieces_of(factor, at, boundary_faces.reference) for factor, at in places.items()])
    return BoundaryFactors(pieces, number if entries is None else number[entries])


def _pieces_of(factor: Expression, T: np.ndarray, reference: float) -> np.ndarray:
    """The pieces of a factor over offsets, level before the first and behind the last of temperatures T."""

    def curve(at: np.ndarray) -> np.ndarray:
        return _at(factor, _round(at))[None]

    at = points_of_curves(curve, T, FACTOR_TOLERANCE, NARROWEST_K)
    pieces, _ = pieces_through(at - reference, curve(at)[0])
    return pieces


def _round(T: np.ndarray) -> np.ndarray:
    """Rounded so that (T - 20.1)**0.25 has a value at an ambient of 20.1, which came here as an offset and in
    kelvin."""
    return np.round(T, 9)


def _at(factor: Expression, T: np.ndarray) -> np.ndarray:
    return np.broadcast_to(factor(T=T), T.shape)


def _require_range(
    scenario: Scenario, key: Key, T: np.ndarray, factor: np.ndarray, others: float, number: Number
) -> None:
    """Raise `ScenarioError` if the factor is negative somewhere, or over the range of its input; `others`: the most by
    which it is multiplied."""
    largest = float(np.finfo(scenario.compute.precision).max)
    most = largest if number.most is None else number.most * (1 + 1e-12)
    values = factor * max(others, 0.0)
    bad = ~((factor >= 0) & (values <= most))
    if bad.any():
        unit = scenario.unit
        wanted = ">= 0" if number.most is None else f"from 0 to {number.most:g}"
        found = f"{values[bad][0]:.6g} at T = {T[bad][0]:.6g}"
        span = f"for T from {T[0]:.6g} to {T[-1]:.6g} {unit}"
        message = f"expected values {wanted}{number.in_unit} {span}, found {found}"
        raise ScenarioError([scenario.issue_at(key, message, HINT)])
