"""CUDA: what a level of `temporal` keeps from turn to turn and makes of differences: a time step, or a bare stage.

A bare stage (`stages`) is made of two fields, W_{n+1} = W_n - nu (W_n - W_{n-1}) + rate dt L(W_n). Besides what a time
step needs, level n wants for each cell the value of W_{n-1} in that very cell, two planes behind the one that level
n - 1 takes in:

    plane       k-n+1     k-n      k-1-n           Level n-1 has kept the plane below its cells for their z neighbours.
    level n-1   arrives   cells    below -----+    It is all of W_{n-1} that level n lacks, and arrives there with the
    level n               arrives  cells      |    plane of W_n: no register more, no barrier more. For the first level
                  W_n       W_n <-- before <--+    it comes from memory.

A time step keeps of the plane below what is needed of it, made a turn ahead (`low`, see `temporal_step`); a stage keeps
the plane and makes `low` when it is needed. That is as many operations.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from heatsim_kernels.cuda_api import inlined
from heatsim_kernels.cuda_tuples import each
from heatsim_kernels.stencil import physics, temporal_step
from heatsim_kernels.stencil.structure import Structure


class StageRates(NamedTuple):
    """`temporal.Rates`, and the coefficients of the stage of each level."""

    rx: float
    ry: float
    rz: float
    dt: float
    nu: object
    rate: object


class Scheme(NamedTuple):
    """Device functions. `kept` is what a level keeps of the plane below, `arriving` what the level before hands on.

    above(arriving): the plane above. low(kept, cells): see `temporal_step`. made(new, cells, arriving, n, rates): the
    cells after level n, which starts from its differences. keep(above, cells): what to keep in the next turn, in which
    the plane above is that of the cells. handed_on(new, kept): what arrives at the next level.
    """

    above: Callable[..., Any]
    low: Callable[..., Any]
    made: Callable[..., Any]
    keep: Callable[..., Any]
    handed_on: Callable[..., Any]


def scheme_of(structure: Structure) -> Scheme:
    """The scheme of levels that take steps, or stages of two fields."""
    return _stages(structure) if structure.stage else _steps(structure)


def _steps(structure):
    lowered = temporal_step.build_low(structure)

    @inlined
    def above(arriving):
        return arriving

    @inlined
    def low(kept, cells):
        return kept

    @inlined
    def made(new, cells, arriving, n, rates):
        return new

    @inlined
    def handed_on(new, kept):
        return new

    return Scheme(above, low, made, lowered, handed_on)


def _stages(structure):
    lowered, staged = temporal_step.build_low(structure), each(physics.staged_of_two)

    @inlined
    def above(arriving):
        return arriving[0]

    @inlined
    def low(kept, cells):
        return lowered(cells, kept)

    @inlined
    def made(new, cells, arriving, n, rates):
        return staged(new, cells, arriving[1], rates.nu[n], rates.rate[n])

    @inlined
    def keep(above, cells):
        return cells

    @inlined
    def handed_on(new, kept):
        return new, kept

    return Scheme(above, low, made, keep, handed_on)
