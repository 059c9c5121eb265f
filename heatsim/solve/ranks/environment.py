"""Whether this process was started as one of several, and how many threads it takes."""

from __future__ import annotations

import os
import sys
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from heatsim.errors import RequestError

if TYPE_CHECKING:
    from mpi4py import MPI

# How many processes a launcher started, and which one this is, as it tells them: Hydra (MPICH, Intel), Open MPI, and
# SLURM's srun.
SIZES = "PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS"
RANKS = "PMI_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID"
FORWARDED = 0.3  # s that a launcher has to forward what was written
THREADS = "NUMBA_NUM_THREADS"
SHORT_SLEEP = 5e-5  # s
_crowded: list[bool] = []  # whether there are more processes than cores


def launched_processes(environment: Mapping[str, str] = os.environ) -> int:
    """How many processes the launcher of this one started; 1 where there was none."""
    return _first_number(SIZES, environment, 1)


def launched_rank(environment: Mapping[str, str] = os.environ) -> int:
    """Which of these processes this one is, from 0; 0 where there is no other."""
    return _first_number(RANKS, environment, 0)


def _first_number(names: Sequence[str], environment: Mapping[str, str], otherwise: int) -> int:
    values = (environment.get(name, "") for name in names)
    return next((int(value) for value in values if value.isdigit()), otherwise)


def world() -> MPI.Intracomm:
    """The communicator of all processes. Raises `RequestError` where mpi4py or an MPI library is missing, or is not
    that of the launcher."""
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        raise RequestError(
            f"this is one of {launched_processes()} processes, and MPI is missing ({error}): pip install "
            "'heatsim[mpi]', or mpi4py with the MPI library of this cluster; or start it without mpiexec"
        ) from None
    found, expected = MPI.COMM_WORLD.size, launched_processes()
    if found != expected:
        raise RequestError(
            f"this is one of {expected} processes, of which MPI knows {found}: mpiexec is not that of the library that "
            f"mpi4py found ({MPI.Get_library_version().splitlines()[0].strip()})"
        )
    return MPI.COMM_WORLD


@contextmanager
def ending_all(comm: MPI.Intracomm, *spared: type[BaseException]) -> Iterator[None]:
    """End all processes where this one fails, but by what all of them meet: they would wait for it, and it for them."""
    try:
        yield
    except spared:
        raise
    except BaseException:
        traceback.print_exc()
        end_all(comm, 1)
        raise


def end_all(comm: MPI.Intracomm, code: int) -> None:
    """End all processes, and the launcher with an exit code, which it may replace by that of a process it killed."""
    sys.stdout.flush()
    sys.stderr.flush()
    time.sleep(FORWARDED)
    comm.Abort(code)
    os._exit(code)


def take_threads(comm: MPI.Intracomm) -> int:
    """Have Numba take a share of the cores that this process may use, unless the environment says how many; before
    Numba is imported. Processes of one machine that may use the same cores share them out. Returns how many."""
    from mpi4py import MPI

    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else list(range(os.cpu_count() or 1))
    beside: list[Any] = comm.Split_type(MPI.COMM_TYPE_SHARED).allgather(cores)
    share = max(1, len(cores) // beside.count(cores))
    if beside.count(cores) > len(cores):
        _crowded.append(True)
    os.environ.setdefault(THREADS, str(share))
    return int(os.environ[THREADS])


def leave_core() -> None:
    """Let another process have the core while this one waits. Where there are more of them than cores, for long enough
    that the one that is waited for gets on."""
    if _crowded or not hasattr(os, "sched_yield"):
        time.sleep(SHORT_SLEEP)
    else:
        os.sched_yield()
