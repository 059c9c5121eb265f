"""Commands that compute over all processes of an `mpiexec`."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from heatsim.cli.options import report_error
from heatsim.errors import HeatsimError
from heatsim.solve.ranks import environment, join, leave

if TYPE_CHECKING:
    from heatsim.solve.ranks.parts import Ranks


@contextmanager
def over_ranks(as_json: bool) -> Iterator[bool]:
    """Compute over all processes that this one was started with, if there are several; yields whether it has the run.
    The others have served the one that has it by then, and have nothing left to do. as_json: whether errors are JSON.

    Raises `heatsim.errors.RequestError` where MPI is missing, or the processes have different versions of heatsim.
    """
    if environment.launched_processes() == 1:
        yield True
        return
    ranks = _all_ranks()
    if not ranks.first:
        ranks.serve()
        yield False
        return
    join(ranks)
    try:
        yield True
    except BaseException as error:
        if ranks.in_call:
            ranks.abort(_told(error, as_json))
        raise
    finally:
        leave()
        ranks.end()


def _all_ranks() -> Ranks:
    comm = environment.world()
    with environment.ending_all(comm, HeatsimError):
        environment.take_threads(comm)
        from heatsim.solve.ranks.parts import Ranks

        return Ranks(comm)


def _told(error: BaseException, as_json: bool) -> int:
    """Say what ended a command, and return the exit code for it."""
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else 1
    if isinstance(error, HeatsimError):
        return report_error(error, as_json)
    traceback.print_exception(error)
    return 1
