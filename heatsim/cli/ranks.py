"""Commands that compute over all processes of an `mpiexec`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from heatsim.ranks import environment, join, leave


@contextmanager
def over_ranks() -> Iterator[bool]:
    """Compute over all processes that this one was started with, if there are several; yields whether it has the run.
    The others have served the one that has it by then, and have nothing left to do.

    Raises `heatsim.errors.RequestError` where MPI is missing, or the processes have different versions of heatsim.
    """
    if environment.launched_processes() == 1:
        yield True
        return
    comm = environment.world()
    environment.take_threads(comm)
    from heatsim.ranks.parts import Ranks

    ranks = Ranks(comm)
    if not ranks.first:
        ranks.serve()
        yield False
        return
    join(ranks)
    try:
        yield True
    finally:
        leave()
        ranks.end()
