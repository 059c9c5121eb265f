"""The kernels that the verification and the timing need, compiled ahead."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from heatsim_kernels.stencil.terms import Drive, Terms

from heatsim.bench.ahead import by_all_cores
from heatsim.bench.measure import Tell
from heatsim.bench.stencil import contenders, problems
from heatsim.bench.stencil.contenders import Contender
from heatsim.bench.stencil.options import Options
from heatsim.bench.stencil.problems import STEP, Case

SIDE = 256  # cells a side of fields that stand for larger ones: they take the same tiles


def compile_ahead(options: Options, chosen: list[Contender], cases: list[Case], tell: Tell) -> None:
    """Compile what these kernels need for the cases of the verification and for what is timed."""
    tell("compiling the kernels in all their variants, where they are not on the disk")
    shapes = {tuple(min(n, SIDE) for n in shape) for shape in options.sizes}
    timed = [problems.timed((nz, ny, nx), count) for nz, ny, nx in shapes for count in options.materials]
    needed = [(each.terms, each.drive) for each in timed] + [(each.terms, each.drive) for each in cases]
    by_all_cores(
        [
            partial(ready, each.name, precision, terms, drive)
            for terms, drive in needed
            for precision in options.precisions
            for each in chosen
        ]
    )


def ready(contender: str, precision: str, terms: Terms, drive: Drive) -> None:
    """Make a kernel ready for a problem, by a batch of no steps."""
    sweep: Any = contenders.contender(contender).build(terms, np.dtype(precision))
    sweep.advance(STEP, 0, drive)
