"""The grid of a scenario, and the values of its numbers and expressions at the points of a grid."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from heatsim.base.grid import CellGrid
from heatsim.errors import ScenarioError
from heatsim.scenario import Expression, Scenario
from heatsim.scenario.language.expressions.expression import Value
from heatsim.scenario.language.toml.positions import Key


def make_grid(scenario: Scenario) -> CellGrid:
    """The grid of a scenario."""
    wanted = scenario.grid
    (nx, ny, nz), (width, depth, height) = wanted.cells, wanted.size
    spacing = (width / nx, depth / ny, height / nz)
    return CellGrid((nz, ny, nx), wanted.origin, spacing, wanted.edges, wanted.coordinates)


def evaluate(value: Value, shape: tuple[int, ...], **variables: np.ndarray | float) -> np.ndarray:
    """The value as a float64 array of `shape`; the variables broadcast to it."""
    result = value(**variables) if isinstance(value, Expression) else value
    return np.broadcast_to(np.asarray(result, np.float64), shape)


def centre_planes(grid: CellGrid) -> Iterator[dict[str, np.ndarray | float]]:
    """Coordinates of the cell centres plane by plane, z upwards: x (1, nx), y (ny, 1) and the number z."""
    x, y = grid.centres("x")[None, :], grid.centres("y")[:, None]
    for z in grid.centres("z"):
        yield {"x": x, "y": y, "z": float(z)}


def require_finite(scenario: Scenario, key: Key, values: np.ndarray, at: str) -> None:
    """Raise `ScenarioError` if some value is not a finite number in the run's precision; `at` says where or when."""
    most = np.finfo(scenario.compute.precision).max
    good = np.abs(values) <= most
    if not good.all():
        first = np.asarray(values).reshape(-1)[~good.reshape(-1)][0]
        undefined = "division by zero, or the root or logarithm of a number below 0?"
        hint = undefined if np.isnan(first) else "too large for its precision" if np.isfinite(first) else "too large?"
        raise ScenarioError([scenario.issue_at(key, f"expected finite values, found {first:g} {at}", hint)])


def require_at_least(scenario: Scenario, key: Key, values: np.ndarray, least: float, unit: str, at: str) -> None:
    """Raise `ScenarioError` if some value is below `least`."""
    if values.size and values.min() < least:
        found = f"expected at least {least:g} {unit}, found {values.min():g} {at}"
        raise ScenarioError([scenario.issue_at(key, found)])


def require_at_most(scenario: Scenario, key: Key, values: np.ndarray, most: float, unit: str, at: str) -> None:
    """Raise `ScenarioError` if some value is above `most`."""
    if values.size and values.max() > most:
        found = f"expected at most {most:g} {unit}, found {values.max():g} {at}"
        raise ScenarioError([scenario.issue_at(key, found)])


def describe_times(times: np.ndarray) -> str:
    """In words, when values were looked at that are not good."""
    return f"at t = {times[0]:g} s" if len(times) == 1 else f"between t = {times[0]:g} and {times[-1]:g} s"
