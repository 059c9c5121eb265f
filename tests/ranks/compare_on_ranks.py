"""Compare steppers and solvers of slabs on several ranks with those of the whole grid: `mpiexec -n 8 python ...`.
With `--gpus` steppers on the GPUs of the ranks, by all kernels, with one on a GPU; SHARE=0/4 in the environment takes
the first of four shares of the cases, each with features of its own: most of the time kernels are compiled. They are
kept on disk (`kernel_cache`). All ranks compile those of the whole grid first, each those of other cases.

Prints how many cases there were, and how many had a bit that differs, in the field, its heat or its ledger, or in a
solution and how it was found. With `--fewer-kernels` cases are fewer, all of the features that slabs cut: none of those
for which only other kernels are compiled, nor of what depends on temperature, whose kernels take longest. PYTHONPATH
has to hold the folders of the tests, of their kernels and of multigrid.
"""

from __future__ import annotations

import itertools
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from mpi4py import MPI

from heatsim.solve.ranks.environment import ending_all, take_threads

take_threads(MPI.COMM_WORLD)

from heatsim_kernels.device.cuda import api  # noqa: E402
from heatsim_kernels.explicit import ONE_STEP_KERNELS, STEPPERS  # noqa: E402
from heatsim_kernels.explicit.cpu.stepper import CpuStepper  # noqa: E402
from heatsim_kernels.explicit.enthalpy import NONLINEAR_STEPPERS  # noqa: E402
from heatsim_kernels.explicit.enthalpy.cpu.stepper import make_stepper  # noqa: E402
from heatsim_kernels.explicit.rk_stages import RkStage  # noqa: E402
from heatsim_kernels.field.region_reductions import RegionCells  # noqa: E402
from heatsim_kernels.field.window_source import WindowSource  # noqa: E402
from heatsim_kernels.solver import slabs  # noqa: E402
from heatsim_kernels.solver.solver import Solver  # noqa: E402

from heatsim.solve.integrators.rkl2 import rkl2_scheme, two_term_scheme  # noqa: E402
from heatsim.solve.ranks.field import RanksStepper  # noqa: E402
from heatsim.solve.ranks.parts import Ranks  # noqa: E402
from heatsim.solve.ranks.solver import RanksSolver  # noqa: E402

if MPI.COMM_WORLD.rank == 0 or "--gpus" in sys.argv:  # on CPUs the others serve, and need not know what
    import multigrid_cases
    import nonlinear_cases
    from helpers.kernel_cases import CHOSEN, FEATURES, STEP, Case, random_case

COUNTS = 2, 3, 4, 8
WITH_AMBIENTS = "k(T), latent heat and ambients"
NONLINEAR = "k(T) and latent heat", WITH_AMBIENTS
CUT = "ambients", "materials with heat a cell", "uniform with losses"
PLANE_OF_GPU = 70, 134  # cells: as large as a tile of `temporal`, which takes no several steps of smaller ones
SIMULATED = os.environ.get("NUMBA_ENABLE_CUDASIM") == "1"
PERIODIC = (False, False, False), (False, False, True), (True, True, True)


class RanksCase(NamedTuple):
    features: str
    periodic: tuple[bool, bool, bool]
    per_cell: bool
    dtype: type
    fused: int
    stages: int  # of rkl2, 0: explicit steps
    seed: int
    kernel: str = "cpu"

    def problem(self) -> Case:
        """The coefficients, the forcing and the stored values at the start."""
        shape = 11 + 8 * (self.seed % 4), *((7, 33) if self.kernel == "cpu" else PLANE_OF_GPU)
        if SIMULATED:
            shape = (13, 6, 9) if self.kernel == "temporal" else (7, 5, 7)
        if self.features in NONLINEAR:
            made = nonlinear_cases.random_case(shape, periodic=self.periodic, seed=0)
            made = made if self.features == WITH_AMBIENTS else made.without_ambients()
            return Case(made.coefficients, made.linear_forcing(), made.start)
        # Even seeds give many classes, in numbers of two bytes, for which other kernels would be compiled.
        features, seed = FEATURES[self.features], 0 if self.features == "more than 256 kinds" else 1
        case = random_case(shape, features, periodic=self.periodic, per_cell=self.per_cell, rows=3, seed=seed)
        return case if self.seed % 3 else case._replace(forcing=self._heated(case.forcing, shape))

    def _heated(self, forcing: Any, shape: tuple[int, int, int]) -> Any:
        """With windows that are heated after some steps, across the cuts between slabs."""
        rng = np.random.default_rng(self.seed)
        tall, flat = rng.uniform(-1, 1, (shape[0], 2, 5)), rng.uniform(-1, 1, (1, 3, 4))
        windows = [
            WindowSource((0, 1, 2), tall.astype(self.dtype), 1.0),
            WindowSource((3, 2, 1), flat.astype(self.dtype), 1.0),
        ]
        return replace(forcing, window_sources=(tuple(windows), (), (windows[1],)))

    def stepper(self, coefficients: Any) -> Any:
        """That of the whole grid."""
        if self.kernel != "cpu":
            steppers: Any = NONLINEAR_STEPPERS if self.features in NONLINEAR else STEPPERS
            # Over ranks the losses of several classes are summed by plane, which `temporal` does not do.
            apart = self.kernel == "temporal" and coefficients.losses is not None and coefficients.several
            return steppers["register" if apart else self.kernel](coefficients, np.dtype(self.dtype))
        make: Any = make_stepper if self.features in NONLINEAR else CpuStepper
        return make(coefficients, np.dtype(self.dtype), self.fused)

    @property
    def step(self) -> float:
        """s, that is stable."""
        return nonlinear_cases.STEP if self.features in NONLINEAR else STEP


def cases_on_gpus(few: bool) -> Iterator[RanksCase]:
    """Each case with the fastest kernel; unless they are to be few, with another one too."""
    if SIMULATED:
        yield RanksCase("uniform with losses", PERIODIC[1], False, np.float32, 1, 0, 1, "basic")
        yield RanksCase("uniform with losses", PERIODIC[0], True, np.float64, 1, 3, 1, "basic")
        yield RanksCase("ambients", PERIODIC[1], True, np.float32, 1, 0, 3, "basic")
        yield RanksCase("uniform with losses", PERIODIC[0], False, np.float32, 1, 0, 1, "temporal")
        return
    share, shares = (int(each) for each in os.environ.get("SHARE", "0/1").split("/"))
    every = list(cases(False))
    for case in every[share * len(every) // shares : (share + 1) * len(every) // shares]:
        kernels = ["register", "basic"] if case.features in NONLINEAR else ["temporal", *ONE_STEP_KERNELS]
        for kernel in dict.fromkeys((kernels[0], kernels[0 if few else case.seed % len(kernels)])):
            yield case._replace(kernel=kernel)


def cases(fewer_kernels: bool) -> Iterator[RanksCase]:
    """Sets of features with every other choice, in turn."""
    choices = itertools.cycle(itertools.product(PERIODIC, (False, True), (1, 2, 3, 4), (0, 3, 7, -7)))
    linear = [each for each in CHOSEN if each[0] in CUT] if fewer_kernels else CHOSEN
    nonlinear = zip(NONLINEAR, (np.float32, np.float64), strict=True)
    chosen, count = (tuple(linear), 48) if fewer_kernels else ((*linear, *nonlinear), 84)
    for seed, ((features, dtype), _) in enumerate(itertools.product(chosen, range(count // len(chosen)))):
        for _ in range(1 + 7 * seed % 5):
            periodic, per_cell, fused, stages = next(choices)
        yield RanksCase(features, periodic, per_cell, dtype, fused, stages, seed)


def result(stepper: Any, case: RanksCase, problem: Case) -> list[np.ndarray]:
    """All that steps make of a problem."""
    stepper.field.put_state(problem.start.astype(case.dtype))
    found = []
    if case.stages:
        scheme = rkl2_scheme(case.stages) if case.stages > 0 else two_term_scheme(-case.stages)
        stages: tuple[RkStage, ...] = scheme.rounded(np.dtype(case.dtype))
        for _ in range(2):
            stepper.take_stages(case.step, stages, 0, problem.forcing)
            found.append(np.array(stepper.defect(case.step, stages[0].rate, problem.forcing)))
            stepper.accept()
    else:
        for steps in (5, 4):
            stepper.advance(case.step, steps, problem.forcing)
    saved = {name: np.array(values) for name, values in stepper.ledger_state().items()}
    stepper.restore_ledger(saved)
    again = stepper.ledger_state()
    some = np.arange(0, stepper.field.host().size, 3)
    found.append(np.array(stepper.field.totals(RegionCells(some, 1.0 + some, 2.0 + some))))
    found += [np.array(stepper.field.host()), np.array(stepper.field.stored()), stepper.heat_entered()]
    return found + [np.array(state[name]) for state in (saved, again) for name in sorted(state)]


@cache
def result_alone(case: RanksCase) -> list[np.ndarray]:
    """That of one process."""
    problem = case.problem()
    return result(case.stepper(problem.coefficients), case, problem)


def differs(ranks: Ranks, case: RanksCase) -> bool:
    problem, alone = case.problem(), result_alone(case)
    coefficients = problem.coefficients
    slabs_of = RanksStepper(ranks, coefficients, np.dtype(case.dtype), case.fused, case.kernel)
    together = result(slabs_of, case, problem)
    same = len(alone) == len(together) and all(
        np.array_equal(a, b, equal_nan=True) and a.dtype == b.dtype for a, b in zip(alone, together, strict=True)
    )
    return not same


class SolverCase(NamedTuple):
    """A linear system; along: how well it conducts along x, y and z, which decides what is coarsened first."""

    shape: tuple[int, int, int]
    periodic: tuple[bool, bool, bool]
    along: tuple[float, float, float]
    dtype: type


def solver_cases(few: bool) -> Iterator[SolverCase]:
    """Numbers of planes, periodic or not, that are cut at unlike depths."""
    planes, along = (16, 22, 33, 67, 128), ((1, 1, 1), (1, 1, 8), (8, 1, 1), (1, 20, 1))
    choices = itertools.product(planes, ((False,) * 3, (True, False, True)), (np.float32, np.float64))
    for number, (nz, periodic, dtype) in enumerate(choices):
        if not few or number % 4 == (0 if nz % 2 else 2) or nz == 22:
            yield SolverCase((nz, 9 + number % 3, 13), periodic, along[number % 4], dtype)


def solver_differs(ranks: Ranks, case: SolverCase) -> bool | None:
    """None where the planes are not cut."""
    plan = slabs.plan_slabs(case.shape, ranks.size, case.periodic[2])
    if plan is None:
        return None
    made = multigrid_cases.random_operator(case.shape, case.periodic, seed=case.shape[0])
    gx, gy, gz = (g * by for g, by in zip((made.gx, made.gy, made.gz), case.along, strict=True))
    arrays = {"gx": gx, "gy": gy, "gz": gz, "s": made.s}
    operator = replace(made, **{name: values.astype(case.dtype) for name, values in arrays.items()})
    heat, found = multigrid_cases.noise(case.shape), []
    for solver in (Solver(operator), RanksSolver(ranks, plan, operator)):
        one = solver.solve(heat, tolerance=1e-10)
        solver.set_outside(operator.s * case.dtype(1.5))
        two = solver.solve(heat, 0.9 * one.x, tolerance=1e-10)
        solver.approach(replace(operator, gx=operator.gx * case.dtype(1.1)))
        three = solver.solve(heat, tolerance=1e-10)
        found.append((one, two, three, solver.preconditioned_operator()))
    solutions = zip(*(each[:3] for each in found), strict=True)
    kept, of_slabs = (each[3] for each in found)
    return not (
        all(np.array_equal(a.x, b.x) and a.residuals == b.residuals and len(a.residuals) > 3 for a, b in solutions)
        and all(np.array_equal(getattr(kept, name), getattr(of_slabs, name)) for name in arrays)
    )


def compared_with(ranks: Ranks, few: bool, gpus: bool) -> Iterator[tuple[RanksCase | SolverCase, bool]]:
    """Each case, and whether it differs."""
    if gpus:
        yield from ((case, differs(ranks, case)) for case in cases_on_gpus(few))
        return
    for case in cases(few):
        # A process takes as long to load the kernels of a set of features as to run all its cases.
        if not few or ranks.size < COUNTS[-1] or case.features == CUT[0]:
            yield case, differs(ranks, case)
    slabs.LEAST_CELLS = 0
    for each in solver_cases(few):
        different = solver_differs(ranks, each)
        if different is not None:
            yield each, different


def main() -> None:
    world = MPI.COMM_WORLD
    compared, different, begun = 0, [], time.monotonic()
    if "--gpus" in sys.argv and not SIMULATED:
        api.take_device(world.rank)
        for case in [*cases_on_gpus("--fewer-kernels" in sys.argv)][world.rank :: world.size]:
            result_alone(case)
        world.Barrier()
    for count in (count for count in COUNTS if count <= world.size):
        comm = world.Split(0 if world.rank < count else MPI.UNDEFINED)
        if comm != MPI.COMM_NULL:
            ranks = Ranks(comm)
            if ranks.first:
                for case, differing in compared_with(ranks, "--fewer-kernels" in sys.argv, "--gpus" in sys.argv):
                    compared += 1
                    if "--tell" in sys.argv:
                        print(f"{time.monotonic() - begun:.0f} s", count, differing, case, flush=True)
                    if differing:
                        different.append((count, case))
                ranks.end()
            else:
                ranks.serve()
        idle = world.Ibarrier()
        while not idle.Test():
            time.sleep(0.005)  # MPI would spin
    if world.rank == 0:
        for each in different:
            print("differs:", each)
        print(f"{compared} cases, {len(different)} with bits that differ")
        sys.stdout.flush()


if __name__ == "__main__":
    with ending_all(MPI.COMM_WORLD):
        main()
