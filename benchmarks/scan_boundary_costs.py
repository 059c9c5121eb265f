"""Rates of `temporal` on a GPU by what planes are said to cost in tiles at ends of the grid.

Blocks are dealt out columns by these costs: where they are right, all blocks end together. `plan` stands for those of
`stencil/temporal/plan.py`; others are given as x,y,both. `--tile` takes another tile than the best of
`stencil/temporal/march.py`. Kernels are not verified here: `heatsim bench stencil` and `compare_materials.py` do.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial
from typing import Any

import click
import compare_materials
import numpy as np
from heatsim_kernels.stencil.rk_stages import RkStage
from heatsim_kernels.stencil.temporal import march
from heatsim_kernels.stencil.temporal.plan import BoundaryCosts, TemporalTile

from heatsim.bench.interleaved_timing import Subject, Work, clock_of, time_interleaved
from heatsim.bench.stencil import problems
from heatsim.bench.stencil.kernels_under_test import find_kernel
from heatsim.integrators import euler, make_field
from heatsim.simulation.state import State

STAGES = 16  # of a Runge-Kutta step
costs_of_plan = march.boundary_costs
problem_of = cache(compare_materials.problem)


def problem(n: int, materials: int, layers: int, ledger: bool, by_cell: bool) -> problems.TimedStencil:
    """The problem of `heatsim bench stencil`; with a ledger of all faces, or boundary values by cell, where asked."""
    found = problems.timed_stencil((n, n, n), materials, layers)
    coefficients = replace(found.coefficients, closed=(not ledger,) * 6, boundary_per_cell=by_cell)
    forcing = problems.boundary_forcing(np.random.default_rng(1), coefficients, 1, turned=0)
    return found._replace(coefficients=coefficients, forcing=forcing)


def choose(costs: str) -> None:
    """Let plans take these costs."""
    chosen = None if costs == "plan" else BoundaryCosts(*map(float, costs.split(",")))
    march.boundary_costs = costs_of_plan if chosen is None else lambda variant: chosen


def prepare_kind(kind: str, precision: str, n: int, costs: str) -> Work:
    """Make steps of a material of `compare_materials.py` ready to be taken with some costs."""
    choose(costs)
    given = problem_of(kind, precision, (n, n, n))
    state = State(given, make_field(given, "temporal"))
    return lambda steps: euler.advance(state, 0.0, given.largest_step, 0, steps)


def prepare(given: problems.TimedStencil, precision: str, stages: bool, costs: str) -> Work:
    """Make steps, or stages, ready to be taken with some costs."""
    choose(costs)
    stepper = find_kernel("temporal").build(given.coefficients, np.dtype(precision))
    stepper.field.put(given.field())
    taken = [RkStage(mu=1.25, nu=-0.25, gamma=0.0, rate=0.5, weight=0.1)] * STAGES

    def take_stages(count: int) -> None:
        for _ in range(count // STAGES):
            stepper.take_stages(1.0, taken, 0, given.forcing)

    return take_stages if stages else lambda steps: stepper.advance(1.0, steps, given.forcing)


def tile_of(context: click.Context, option: click.Parameter, given: str | None) -> TemporalTile | None:
    """The tile of an option."""
    try:
        return None if given is None else TemporalTile(*map(int, given.split(",")))
    except (TypeError, ValueError):
        raise click.BadParameter(f"{given!r}: expected four or five whole numbers, as 3,2,4,16,2") from None


@click.command(help=__doc__)
@click.argument("costs", nargs=-1)
@click.option("--n", default=512, show_default=True, help="Cells along each axis.")
@click.option("--precision", type=click.Choice(["float32", "float64"]), default="float32", show_default=True)
@click.option("--materials", default=1, show_default=True)
@click.option("--layers", default=0, show_default=True, help="Layers along z, 0 for cubes.")
@click.option("--ledger", is_flag=True, help="Count the heat through all faces.")
@click.option("--by-cell", is_flag=True, help="Give each boundary cell values of its own.")
@click.option("--stages", is_flag=True, help="Take stages in place of steps.")
@click.option("--kind", type=click.Choice(list(compare_materials.KINDS)), help="One of compare_materials.py instead.")
@click.option(
    "--tile", callback=tile_of, help="Steps, columns, rows, bands and planes ahead of a `TemporalTile`, as 3,2,4,16,2."
)
@click.option("--seconds", default=0.1, show_default=True, help="Time of a round.")
def main(
    costs: tuple[str, ...],
    n: int,
    precision: str,
    stages: bool,
    kind: str | None,
    tile: TemporalTile | None,
    seconds: float,
    **options: Any,
) -> None:
    if tile is not None:
        march.tiles_for = lambda configuration: (tile,)
    if kind is None:
        make = partial(prepare, problem(n, **options), precision, stages)
    else:
        make = partial(prepare_kind, kind, precision, n)
    subjects = [Subject(name, partial(make, name)) for name in ("plan", *costs)]
    for name, timing in time_interleaved(subjects, clock_of("cuda"), seconds, STAGES).items():
        print(f"{name:>16} {n**3 / timing.best / 1e9:8.1f} G cells/s", flush=True)


if __name__ == "__main__":
    main()
