"""Problems in which something follows temperature: properties, melting, radiation, coefficients.

What a linear problem has as constants comes here from tables over the enthalpy (`heatsim_kernels.stencil.nonlinear`),
which count in kelvin whatever the scenario's unit is. Ambients are cells of one more material, held at their rise.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from heatsim_kernels.stencil.nonlinear import material as kernel
from heatsim_kernels.stencil.nonlinear.tables import Tables, tabulate
from heatsim_kernels.stencil.nonlinear.terms import Factors, NonlinearTerms, nonlinear_terms
from heatsim_kernels.stencil.terms import Terms

from heatsim.errors import ScenarioError
from heatsim.problem.kinds import Kinds
from heatsim.problem.media import Media
from heatsim.problem.properties import Range, Reach, properties_of
from heatsim.problem.values import ABSOLUTE_ZERO
from heatsim.scenario import Scenario, what_follows_temperature

SEGMENTS = 2048  # of the tables, where the range is known
SEGMENTS_OF_ALL = 8192  # where it reaches up to what is possible at all: half a kelvin each
SEGMENTS_OF_STEADY = 32768  # the steady solver runs on the host, where no cache is short
WIDE = 2000.0  # K; ranges above are of the second sort


class Tabulated(NamedTuple):
    """Materials over the enthalpy; told: of each, the rises over the reference for which the scenario says what it is
    like, K: what is beyond goes on with the last values; reached: the rises that the problem may reach."""

    materials: Tables
    told: tuple[Range, ...]
    reached: Range


def require_one_that_follows(scenario: Scenario) -> None:
    """Raise `ScenarioError` for an integrator that needs a linear problem."""
    name = scenario.time.integrator
    if name == "rkl2":
        key = ".".join(map(str, what_follows_temperature(scenario) or ()))
        message = f'"{name}" needs properties and faces that do not follow temperature, as {key} does'
        hint = 'integrator = "euler" and "implicit" follow it, "steady" finds its limit'
        raise ScenarioError([scenario.problem_at(("time", "integrator"), message, hint)])


def tabulated(scenario: Scenario, reference: float, reach: Reach) -> Tabulated:
    """The materials about `reference`, in the scenario's unit. Raises `ScenarioError` as `properties_of` does."""
    found = [properties_of(scenario, name, reach) for name in scenario.materials]
    held = [kernel.Material.constant(1.0, 1.0)] if scenario.ambients else []
    low, high = reach.possible
    segments = SEGMENTS_OF_ALL if high - low > WIDE else SEGMENTS
    segments = SEGMENTS_OF_STEADY if scenario.time.integrator == "steady" else segments
    middle = reference - ABSOLUTE_ZERO[scenario.temperature_unit]
    tables = tabulate([each.material for each in found] + held, middle, reach.possible, segments)
    told, reached = (
        [(first - middle, last - middle) for first, last in ranges]
        for ranges in ([each.told for each in found], [reach.reached])
    )
    return Tabulated(tables, tuple(told), reached[0])


def make_nonlinear_terms(
    linear: Terms,
    kinds: Kinds,
    media: Media,
    zone_media: np.ndarray,
    tables: Tables,
    factors: Factors | None,
) -> NonlinearTerms:
    """The terms of a problem, from those that it would have if nothing departed from the reference."""
    own = zone_media[kinds.zone]
    return nonlinear_terms(
        linear.shape,
        tables,
        np.where(own < media.solids, kinds.volume, 0.0),
        np.minimum(own, media.solids),
        np.minimum(kinds.beyond, media.solids),
        *kinds.faces,
        kinds=linear.kinds,
        periodic=linear.periodic,
        closed=linear.closed,
        wall_per_cell=linear.wall_per_cell,
        taps=linear.taps,
        factors=factors,
    )
