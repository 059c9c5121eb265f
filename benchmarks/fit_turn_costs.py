"""What turns of `temporal` cost on a GPU, by least squares, and how evenly they keep its blocks busy.

A turn takes longer in a tile at an end of the grid, or where cell classes change. Blocks are dealt out turns by these
costs: where they are right, all blocks end together. In each round every block of a launch counts the cycles that it
takes. The costs that fit them best are those of the next round; the first one has those of `stencil/temporal/plan.py`.
"Busy" is the mean of the blocks over the longest. Kernels are not verified here: `heatsim bench stencil` and
`compare_materials.py` do.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from typing import Any

import compare_materials
import numpy as np
from heatsim_kernels.device.cuda.api import cuda, inlined, intrinsic
from heatsim_kernels.explicit.blocked import launch, march
from heatsim_kernels.explicit.blocked.plan import TemporalTile, TurnCosts, tile_columns
from heatsim_kernels.explicit.blocked.turn_kinds import moving_turns
from heatsim_kernels.explicit.rk_stages import RkStage
from llvmlite import ir
from numba import float64, types

from heatsim.base.tables import Row, TableColumn, number, number_columns
from heatsim.studies.bench import harness
from heatsim.studies.bench.stencil import problems
from heatsim.studies.bench.stencil.kernels import find_kernel
from heatsim.studies.bench.timing import Pace, Work, clock_of, time_interleaved

STAGES = 16  # of a Runge-Kutta step
build_untimed = march.build


@intrinsic
def clock64(typing_context):
    """The cycles that the multiprocessor has counted."""

    def codegen(context, builder, signature, args):
        kind = ir.FunctionType(ir.IntType(64), [])
        return builder.call(ir.InlineAsm(kind, "mov.u64 $0, %clock64;", "=l", side_effect=True), [])

    return types.int64(), codegen


def build_timed(variant: march.TemporalVariant) -> Any:
    """`march.build`, but blocks put the cycles that they take where sweeps without losses put nothing."""
    sweep = inlined(build_untimed(variant))

    def temporal(u, v, trace, shape, pieces, firsts, k, tables, rates, classes):  # type: ignore[no-untyped-def]
        begun = clock64()
        sweep(u, v, trace, shape, pieces, firsts, k, tables, rates, classes)
        cuda.syncthreads()
        if cuda.threadIdx.x == 0 and cuda.threadIdx.y == 0:
            classes.heat_accounts[0, cuda.blockIdx.x] = float64(clock64() - begun)

    return temporal


build_timed.__module__ = march.__name__  # compiled kernels are kept for the sources of its package


@contextmanager
def sweeps_kept(costs: TurnCosts | None) -> Iterator[list[launch.FusedSteps]]:
    """The fused sweeps that are made meanwhile, timed, and dealt out by these costs, if there are any."""
    kept: list[launch.FusedSteps] = []
    make, of_plan = launch.FusedSteps.__init__, march.turn_costs

    def make_and_keep(sweep: launch.FusedSteps, *args: Any, **options: Any) -> None:
        make(sweep, *args, **options)
        kept.append(sweep)

    launch.FusedSteps.__init__ = make_and_keep  # type: ignore[method-assign]
    march.build = build_timed
    if costs is not None:
        march.turn_costs = lambda variant: costs
    try:
        yield kept
    finally:
        launch.FusedSteps.__init__, march.build = make, build_untimed  # type: ignore[method-assign]
        march.turn_costs = of_plan


def problem(n: int, materials: int, layers: int, ledger: bool, by_cell: bool) -> problems.TimedStencil:
    """The problem of `heatsim bench stencil`; with a ledger of all faces, or boundary values by cell, where asked."""
    found = problems.timed_stencil((n, n, n), materials, layers)
    coefficients = replace(found.coefficients, closed=(not ledger,) * 6, boundary_per_cell=by_cell)
    forcing = problems.boundary_forcing(np.random.default_rng(1), coefficients, 1, turned=0)
    return found._replace(coefficients=coefficients, forcing=forcing)


def prepare(given: problems.TimedStencil, precision: str, stages: bool) -> Work:
    """Make steps, or stages, ready to be taken."""
    stepper = find_kernel("temporal").build(given.coefficients, np.dtype(precision))
    stepper.field.put(given.field())
    taken = [RkStage(mu=1.25, nu=-0.25, gamma=0.0, rate=0.5, weight=0.1)] * STAGES

    def take_stages(count: int) -> None:
        for _ in range(count // STAGES):
            stepper.take_stages(1.0, taken, 0, given.forcing)

    return take_stages if stages else lambda steps: stepper.advance(1.0, steps, given.forcing)


def work_of_blocks(sweep: launch.FusedSteps, pieces: np.ndarray, firsts: np.ndarray) -> np.ndarray:
    """(blocks, 6) what each block has to do: turns in tiles inside, at ends in y, in x and in both; turns that are not
    STILL in some band; pieces."""
    variant, (planes, *_) = sweep._variant, sweep._cells
    tile, configuration = variant.tile, variant.configuration
    columns = tile_columns(tile, sweep._cells, configuration.periodic)
    moving = np.zeros((len(columns), planes), bool)
    if configuration.classes_by_cell:
        moving = moving_turns(sweep._kinds_of_turns, planes, tile.bands)
    found = np.zeros((len(firsts) - 1, 6))
    for block, (begin, end) in enumerate(pairwise(firsts)):
        for piece in pieces[begin:end]:
            first, last, number = piece[2] - min(piece[2], tile.steps), piece[3] + tile.steps, piece[8]
            found[block, 2 * columns[number].at_x + columns[number].at_y] += last - first
            found[block, 4] += (last - first) * moving[number].mean()
            found[block, 5] += 1
    return found


def fitted(work: np.ndarray, cycles: np.ndarray) -> TurnCosts:
    """The costs that fit best. What no block has to do costs nothing."""
    done = work.any(axis=0)
    found = np.zeros(work.shape[1])
    found[done] = np.linalg.lstsq(work[:, done], cycles, rcond=None)[0]
    inside, y, x, both, moving, piece = found
    costs = x, y, both, moving, max(0.0, piece)
    return TurnCosts(*(float(cost / inside) for cost in costs))


def main() -> int:
    """Time, count, fit, and deal out anew, round after round."""
    parser = harness.options(
        __doc__,
        device="cuda",
        size=512,
        precision="float32",
        problem=list(compare_materials.PROBLEMS),
        rounds=3,
        seconds=0.1,
    )
    parser.add_argument("--materials", type=int, default=1, help="materials in cubes [1]")
    parser.add_argument("--layers", type=int, default=0, help="layers along z in place of cubes")
    parser.add_argument("--ledger", action="store_true", help="count the heat through all faces")
    parser.add_argument("--by-cell", action="store_true", help="give each boundary cell values of its own")
    parser.add_argument("--stages", action="store_true", help="take stages in place of steps")
    parser.add_argument("--tile", help="steps, columns, rows, bands and planes ahead of a TemporalTile, as 3,2,4,16,2")
    given = parser.parse_args()
    if given.tile:
        tile = TemporalTile(*map(int, given.tile.split(",")))
        march.tiles_for = lambda configuration: (tile,)
    kind, n = given.problem[0] if given.problem else None, given.size
    fixed = None if kind else problem(n, given.materials, given.layers, given.ledger, given.by_cell)
    costs, rows = None, list[Row]()
    for _ in range(given.rounds):
        with sweeps_kept(costs) as kept:
            if fixed is None:
                take = compare_materials.prepare(kind, given.precision, "temporal", n)
            else:
                take = prepare(fixed, given.precision, given.stages)
            take(3 * STAGES)  # warm
            pace = Pace(given.seconds, STAGES)
            timing = time_interleaved({"temporal": harness.holding(take)}, pace, clock_of("cuda"))["temporal"]
        pieces, firsts = kept[-1]._plan(kept[-1]._everywhere)
        cycles = kept[-1]._heat_accounts.host()[0, : len(firsts) - 1]
        costs = fitted(work_of_blocks(kept[-1], pieces, firsts), cycles)
        rows.append({"name": "temporal", "rate": n**3 / timing.best, "busy": cycles.mean() / cycles.max()})
        rows[-1] |= costs._asdict()
    columns = [TableColumn("G cells/s", number("rate", ".1f", 1e9)), *number_columns(".3f", {"busy": "busy"})]
    columns += number_columns(".2f", {name: name for name in TurnCosts._fields})
    return harness.finish(
        given, harness.Layout(columns), rows, ["the costs of each row fit best, and deal out the next"]
    )


if __name__ == "__main__":
    sys.exit(main())
