"""A scenario on a finer grid, or with a shorter step, as overrides of its keys."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from heatsim.errors import Issue, ScenarioError

if TYPE_CHECKING:
    from heatsim.scenario import Scenario
    from heatsim.scenario.grid import Axis


class RefinementLevel(NamedTuple):
    """The grid is `grid` times as fine along each resolved axis, the step `step` times as short."""

    grid: int = 1
    step: int = 1


def grids(*factors: int) -> tuple[RefinementLevel, ...]:
    """Levels of ever finer grids."""
    return tuple(RefinementLevel(grid=factor) for factor in factors)


def steps(*factors: int) -> tuple[RefinementLevel, ...]:
    """Levels of ever shorter steps."""
    return tuple(RefinementLevel(step=factor) for factor in factors)


def overrides(scenario: Scenario, level: RefinementLevel) -> list[str]:
    """Overrides, as for --set, that refine a scenario to a level.

    The error in time stays below that in space: an explicit step follows the stability limit, one that is given
    shrinks like the square of the spacing, and so does the tolerance of error control.

    Raises `ScenarioError` for arrays, which belong to one grid.
    """
    found = _grid_overrides(scenario, level.grid) if level.grid > 1 else []
    found += fix_integrator(scenario)
    time, shrunk = scenario.time, level.grid**2
    if isinstance(time.step, float) and level != RefinementLevel():
        found.append(f"time.step={time.step / (shrunk * level.step)!r}")
    elif time.solves and not time.is_steady and level.grid > 1:
        found.append(f"time.tolerance={max(1e-10, (time.tolerance or 1e-3) / shrunk)!r}")
    return found


def fix_integrator(scenario: Scenario) -> list[str]:
    """Overrides that have all runs of a study take explicit Euler, where the scenario leaves the integrator open."""
    return ["time.integrator=euler"] if scenario.time.chosen is None else []


def _grid_overrides(scenario: Scenario, factor: int) -> list[str]:
    _require_no_arrays(scenario)
    grid = scenario.grid
    cells = [count * factor if count > 1 else 1 for count in grid.cells]
    found = [f"grid.cells={cells}"]
    for name, count in zip("xyz", grid.cells, strict=True):
        axis = getattr(grid, name)
        if axis is not None and count > 1:
            found.append(f"grid.{name}={_finer(axis, factor)}")
    return found


def _finer(axis: Axis, factor: int) -> str:
    """The axis with each cell cut into equal parts, as TOML."""
    if axis.layers is not None:
        layers = (f"{{ thickness = {layer.thickness!r}, cells = {layer.cells * factor} }}" for layer in axis.layers)
        return f"{{ layers = [{', '.join(layers)}] }}"
    return f"{{ edges = {split_cells(axis.edges or (), factor)} }}"


def split_cells(edges: Sequence[float], factor: int) -> list[float]:
    """Places of cell faces with `factor` equal cells in place of each; given faces stay as they are."""
    inner = [low + (high - low) * part / factor for low, high in pairwise(edges) for part in range(factor)]
    return [*inner, edges[-1]]


def _require_no_arrays(scenario: Scenario) -> None:
    keys = [("regions", number) for number, region in enumerate(scenario.regions) if region.labels is not None]
    if hasattr(scenario.initial.temperature, "file"):
        keys.append(("initial", "temperature"))  # type: ignore[arg-type]
    if keys:
        message = "an array has one value a cell of one grid, which cannot be refined"
        raise ScenarioError([scenario.issue_at(key, message) for key in keys])


def require_refinable(scenario: Scenario) -> None:
    """Raise `ScenarioError` if no axis is resolved."""
    if max(scenario.grid.cells) == 1:
        raise ScenarioError([Issue("no axis has more than one cell: there is nothing to refine", "grid.cells")])
