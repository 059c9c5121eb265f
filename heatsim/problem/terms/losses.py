"""Losses: sources in proportion to temperature, where their coefficient is one number and nothing else is nonlinear.

Perfusion c (T_p - T) is a source c (T_p - T_ref) that does not depend on temperature, and a loss: each second a cell
loses the share c/(rho cp) of what it holds over the reference. Decay at a rate k is a loss of k, and a source -k T_ref
for each unit of capacity. Where T_ref is the temperature at which nothing is lost, no source is left. Losses are
coefficients of the cell classes: explicit steps take them in their passes, and matrices on their diagonals.
"""

from __future__ import annotations

import numpy as np

from heatsim.base.grid import CellGrid
from heatsim.problem.media.zones import Zones
from heatsim.problem.terms.volume_sources import SourceTerm, product_terms
from heatsim.scenario import Expression, Scenario
from heatsim.scenario.language.expressions.expression import Value, depends_on


def loss_terms(scenario: Scenario, numbers: frozenset[int], reference: float, grid: CellGrid) -> tuple[SourceTerm, ...]:
    """What the sources of these numbers release at the reference temperature, which is in the scenario's unit."""
    return tuple(term for number in sorted(numbers) for term in _terms(scenario, number, reference, grid))


def temperature_without_losses(scenario: Scenario, numbers: frozenset[int]) -> float | None:
    """The temperature at which none of the sources of these numbers takes or gives anything, in the scenario's unit;
    None if there is no such number."""
    terms = (scenario.sources[number].cell_term for number in numbers)
    found = {term.rest for term in terms if term is not None}
    value = found.pop() if len(found) == 1 else None
    return value if isinstance(value, float) else None


def _terms(scenario: Scenario, number: int, reference: float, grid: CellGrid) -> list[SourceTerm]:
    term = scenario.sources[number].cell_term
    assert term is not None
    assert term.loss is not None
    if reference == term.rest:
        return []
    of_reference = SourceTerm(number, -term.loss * reference, in_proportion=term.in_proportion)
    return [of_reference] if term.rest == 0.0 else [*_products(number, term.loss, term.rest, grid), of_reference]


def _products(number: int, scale: float, value: Value, grid: CellGrid) -> list[SourceTerm]:
    """scale times a value, as terms."""
    if not depends_on(value, "xyzt"):
        return [SourceTerm(number, scale * float(value() if isinstance(value, Expression) else value))]
    assert isinstance(value, Expression)
    return product_terms(number, scale, value, grid, None, by_distance=True)


def loss_rates(scenario: Scenario, numbers: frozenset[int], zones: Zones, capacities: np.ndarray) -> np.ndarray | None:
    """(n,) 1/s of each zone, 0 where it is not solved; None where there are none. capacities: (n,) J/(m3 K) of each."""
    if not numbers:
        return None
    rates = np.zeros(len(zones))
    for number in sorted(numbers):
        source = scenario.sources[number]
        inside = np.array([number in sources for sources in zones.sources])
        held = np.ones(len(zones)) if source.in_proportion else capacities
        rates += np.divide(source.loss or 0.0, held, out=np.zeros(len(zones)), where=inside & (capacities > 0))
    return rates
