"""Nonlinear problems, in which properties, melting, radiation or coefficients depend on temperature.

What a linear problem has as constants comes here from tables over the enthalpy (`heatsim_kernels.enthalpy`), which
count in kelvin whatever the scenario's unit is. Ambients are cells of one more material, of prescribed temperature.

**Bounds.** The tables span the temperatures that the body may reach. Without sources it stays between its initial,
boundary and ambient temperatures (the maximum principle). Sources of known power drive it no further than they would
heat an insulated cell. Beams, fluxes, and sources that act until a steady state is reached have no such bound: for them
the tables go up to MAX_TEMPERATURE_K, above the melting point of any metal.

**Boundary factors.** A coefficient or emissivity that depends on the temperature of its surface is a product of a part
in x, y, z, t, which `SurfaceConditions` treats as any other, and a factor in T alone. Factors are tabulated over all
temperatures that may be reached, between which the surface lies as the body does; beyond, where rounding alone leads,
the last values hold.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from heatsim_kernels.enthalpy import material as kernel
from heatsim_kernels.enthalpy.coefficients import (
    BoundaryFactors,
    GridLayout,
    NonlinearCoefficients,
    nonlinear_coefficients,
)
from heatsim_kernels.enthalpy.lookup_tables import EnthalpyTables, tabulate
from heatsim_kernels.stencil.coefficients import StencilCoefficients

from heatsim.errors import ScenarioError
from heatsim.physics.boundary_faces import BoundaryFaces
from heatsim.physics.materials import (
    Materials,
    Range,
    TemperatureBounds,
    ambient_temperatures,
    least_capacity,
    material_properties,
)
from heatsim.problem.cell_classes import CellClasses
from heatsim.problem.temperature_sources import TemperatureSources
from heatsim.problem.volume_sources import VolumeSources
from heatsim.scenario import Expression, Scenario
from heatsim.scenario.expressions.expression import separate_temperature
from heatsim.scenario.toml.positions import Key
from heatsim.scenario.value_types import Number

SEGMENTS = 2048  # of the tables, where the range is known
SEGMENTS_OF_ALL = 8192  # where it reaches up to what is possible at all: half a kelvin each
SEGMENTS_OF_STEADY = 32768  # the steady solver runs on the host, where no cache is short
WIDE = 2000.0  # K; ranges above are of the second sort
MAX_TEMPERATURE_K = 4000.0  # or twice the highest temperature known
SOURCE_MARGIN = 4.0  # on the rise by sources: capacities depend on temperature, and the power is sampled
BOUNDS_SAMPLES = 65  # times at which faces are evaluated
BEYOND_K = 1e-6  # by which a body is taken to be beyond its bounds, K: rounding must not decide
SOURCE_STRIDE = 4  # of these times, from one to the next at which sources are evaluated
UNTABULATED_HINT = "heat capacities, or a solidus and a liquidus, may differ by too many powers of ten"
HINT = "the surface may be as warm or cold as this: abs, max or min, as in max(T - 20, 0), keep it in bounds"


class TabulatedMaterials(NamedTuple):
    """Materials over the enthalpy, temperatures as offsets from the reference, K.

    documented: for each material the range in which the scenario documents its properties; beyond it the last values
        hold.
    reached: the range that the problem may reach.
    """

    materials: EnthalpyTables
    documented: tuple[Range, ...]
    reached: Range


def tabulate_materials(scenario: Scenario, reference: float, bounds: TemperatureBounds) -> TabulatedMaterials:
    """The materials about `reference`, in the scenario's unit. Raises `ScenarioError` as `material_properties` does,
    and for properties that need more segments than a table has, or have no finite enthalpy."""
    found = [material_properties(scenario, name, bounds) for name in scenario.materials]
    ambient = [kernel.EnthalpyMaterial.constant(1.0, 1.0)] if scenario.ambients else []
    low, high = bounds.possible
    segments = SEGMENTS_OF_ALL if high - low > WIDE else SEGMENTS
    segments = SEGMENTS_OF_STEADY if scenario.time.is_steady else segments
    middle = reference - scenario.zero
    try:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            tables = tabulate([each.material for each in found] + ambient, middle, bounds.possible, segments)
    except (ValueError, OverflowError) as error:
        message = f"expected properties whose heat content can be tabulated: {error}"
        raise ScenarioError([scenario.issue_at(("materials",), message, UNTABULATED_HINT)]) from None
    documented, reached = (
        [(first - middle, last - middle) for first, last in ranges]
        for ranges in ([each.documented for each in found], [bounds.reached])
    )
    return TabulatedMaterials(tables, tuple(documented), reached[0])


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
    # Rounded so that (T - 20.1)**0.25 has a value at an ambient of 20.1, which came here as an offset and in kelvin.
    T = np.round(boundary_faces.reference + np.clip(tables.materials.offsets, *tables.reached), 9)
    found: dict[Expression, int] = {}  # several faces may have one factor
    number = np.zeros(boundary_faces.starts[-1], np.uint32)
    for patch in boundary_faces:
        name = patch.condition.STRENGTH
        factor = separate_temperature(patch.condition.inputs[name])[1] if name else None
        if factor is not None:
            most = float(boundary_faces.checked(patch, name, sample_times(scenario)).max())
            range_of_values = patch.condition.numbers()[name]
            _require_range(scenario, (*patch.key, name), T, _at(factor, T), most, range_of_values)
            of_face = number[boundary_faces.starts[patch.face] : boundary_faces.starts[patch.face + 1]]
            of_face[patch.cells] = found.setdefault(factor, len(found) + 1)
    if not found:
        return None
    lines = np.stack([tables.materials.lines(_at(factor, T)) for factor in found])
    return BoundaryFactors(lines, number if entries is None else number[entries])


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


# --- bounds


def sample_times(scenario: Scenario) -> np.ndarray:
    """Times spread over a run, s."""
    return np.zeros(1) if scenario.time.is_steady else np.linspace(0.0, scenario.time.end, BOUNDS_SAMPLES)


def input_range(
    scenario: Scenario, initial: Range, boundary_faces: BoundaryFaces, following: TemperatureSources | None
) -> Range:
    """The least and the greatest of the initial, boundary and ambient temperatures, and of what pervades the body, K;
    arguments are in the scenario's unit."""
    times = sample_times(scenario)
    ambients = ambient_temperatures(scenario, times).reshape(-1).tolist()
    pervading = following.temperatures(times) if following else []
    values = [*initial, *boundary_faces.temperatures(times), *ambients, *pervading]
    zero = scenario.zero
    return min(values) - zero, max(values) - zero


def find_temperature_bounds(
    scenario: Scenario,
    known: Range,
    volume_sources: VolumeSources,
    boundary_faces: BoundaryFaces,
    following: TemperatureSources | None,
) -> TemperatureBounds:
    """The temperatures that may be reached, K; `volume_sources` is that of cells with a capacity of 1 J/(m3 K).

    Where sources that depend on temperature heat a body as warm as the warmest input, there is no bound above it.
    """
    low, high = known
    cooling, warming = 0.0, 0.0
    if scenario.sources:
        cooling, warming = _rises(scenario, volume_sources, least_capacity(scenario, known))
    out, into = boundary_faces.flux_range(sample_times(scenario))
    low = 0.0 if out < 0 or cooling == -np.inf else max(0.0, low + cooling)
    high = high + (np.inf if into > 0 else warming)
    if following is not None:
        few, zero = sample_times(scenario)[::SOURCE_STRIDE], scenario.zero
        ends = {known[0], low}, {known[1], high} - {np.inf}
        if any(following.extremes(end + zero - BEYOND_K, few)[0] < 0 for end in ends[0]):
            low = 0.0
        if any(following.extremes(end + zero + BEYOND_K, few)[1] > 0 for end in ends[1]):
            high = np.inf
    high = min(high, max(MAX_TEMPERATURE_K, 2.0 * known[1]))
    margin = 0.01 * (high - low) or 1.0
    return TemperatureBounds(known, (low, high), (max(0.0, low - margin), high + margin))


def _rises(scenario: Scenario, volume_sources: VolumeSources, capacity: float) -> tuple[float, float]:
    """How far sources alone could cool and warm a cell, K."""
    densities = np.array([_extremes(volume_sources, time) for time in sample_times(scenario)[::SOURCE_STRIDE]])
    cooling, warming = np.minimum(densities[:, 0], 0.0).mean(), np.maximum(densities[:, 1], 0.0).mean()
    if scenario.time.is_steady:
        return (-np.inf if cooling < 0 else 0.0), (np.inf if warming > 0 else 0.0)
    factor = SOURCE_MARGIN * scenario.time.end / max(capacity, np.finfo(float).tiny)
    beams = any(source.beam is not None for source in scenario.sources)
    return float(factor * cooling), np.inf if beams else float(factor * warming)


def _extremes(volume_sources: VolumeSources, time: float) -> np.ndarray:
    """The least and the greatest power density of sources other than beams at a time, W/m3."""
    now, ends = np.array([time]), np.zeros(2)
    table, field = volume_sources.table(now), volume_sources.field(time)
    if table is not None:
        ends += table.min(), table.max()
    if field is not None:
        ends += np.sort(np.array([field.min(), field.max()], float) * volume_sources.scale(now)[0])
    return ends
