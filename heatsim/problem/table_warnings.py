"""Warnings about materials that depend on temperature, whose curves or states hold less than is promised."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from heatsim.problem.temperature_dependence import TabulatedMaterials
from heatsim.scenario import Scenario
from heatsim.scenario.language.toml.positions import KeyIssue

PROMISED = 1e-4  # of the local heat capacity and conductivity
MAX_ROUNDING = 1e-3  # of a temperature, or of the range of those given, whichever is more
SAMPLES = 65  # of the temperatures given


def tables_off(scenario: Scenario, tabulated: TabulatedMaterials, dtype: np.dtype) -> Iterator[KeyIssue]:
    """Materials whose curves are off by more than is promised, or whose temperatures the state does not resolve."""
    tables, (low, high) = tabulated.materials, tabulated.bounds.known
    T = np.linspace(low, high, SAMPLES) - tables.reference
    for number, name in enumerate(scenario.materials):
        error = float(tables.error[number])
        if error > PROMISED:
            found = f"its heat capacity and conductivity are held to {error:.2g} of their local values only"
            yield KeyIssue(("materials", name), f"{found} ({PROMISED:g} is promised)", "fewer points, or smoother ones")
        u = tables.state_of(T, number)
        rounding = 0.5 * float(np.finfo(dtype).eps) * np.abs(u * tables.slope(u, number))
        size = np.maximum(np.abs(T + tables.reference), max(high - low, np.finfo(float).tiny))
        most = rounding / size
        worst = int(np.argmax(most))
        if most[worst] > MAX_ROUNDING:
            at = f"{T[worst] + tables.reference + scenario.zero:.4g} {scenario.unit}"
            found = f"{dtype} rounds temperatures at {at} to {rounding[worst]:.2g} K, so little heat it holds there"
            yield KeyIssue(("materials", name), found, 'compute.precision = "float64"')
