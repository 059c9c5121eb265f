"""One run over several processes, the ranks of MPI: `mpiexec -n 4 heatsim run FILE`.

The first rank does all that a run does. Where it steps a field, reads it or solves a linear system, it has the other
ranks do the same with their slabs of planes along z (`heatsim_kernels.explicit.slabs`): they serve its calls until it
ends. So the time loop, recorders and checkpoints know nothing of ranks.

environment  whether this process was started as one of several; how many threads each takes
links        what the steppers of slabs exchange, by MPI
parts        the slab of a rank, and what the ranks do together
gpus         which GPU a rank takes, and how halos go from one to another
field        the field and the stepper that the first rank has, which stand for all slabs
solver       the solver of linear systems that the first rank has, and its part on each rank

This module imports nothing heavy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from heatsim.solve.ranks.parts import Ranks

_joined: list[Ranks] = []  # those of this process, if it was started as one of several


def joined_ranks() -> Ranks | None:
    """The ranks that compute a run together; None where this process is alone."""
    return _joined[-1] if _joined else None


def join(ranks: Ranks) -> None:
    """Compute runs from now on over these ranks."""
    _joined.append(ranks)


def leave() -> None:
    """Compute runs in this process alone again."""
    _joined.clear()
