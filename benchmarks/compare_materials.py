"""What materials, faces and sources that depend on temperature cost: rates of explicit steps against constants.

    python benchmarks/compare_materials.py --device cpu --n 160 --precision both
    python benchmarks/compare_materials.py --device cuda --n 512 --precision both

A cube of n^3 cells with fixed walls, one of which may exchange heat, explicit Euler, with the energy ledger of all
walls. `of constant` is the ratio of the rate to that of constant properties with the same kernel.

First each is solved on 20 x 21 x 37 cells (`temporal`: 131 x 130 x 9): on a GPU the result must have the bits of the
CPU's, and on the CPU it must be that of `implicit` to 2 % of the range. One that differs is reported as FAILED and not
timed (exit code 1). Then it is timed in turn with constant properties; the best round of each counts. No ratio is
printed of rounds that are shorter than a second or spread by more than a third.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from typing import NamedTuple

import numpy as np

from heatsim.bench.rounds import doubt
from heatsim.integrators import euler, make_field
from heatsim.problem import Problem, build_problem
from heatsim.scenario import loads
from heatsim.simulation.state import State
from heatsim.simulation.time_loop import Timings, simulate

SECONDS_A_ROUND = 1.5
SCENARIO = """
temperature_unit = "degC"
grid = {{ cells = {cells}, size = [1.0, 1.0, 1.0] }}
time = {{ end = {end!r}, {time} }}
compute = {{ precision = "{precision}", device = "{device}" }}
initial = {{ temperature = "20 + 30 * x * y" }}
boundary = {{ default = {{ {walls} }}{face} }}
materials.m = {{ density = 1000.0, {material} }}
materials.other = {{ density = 1000.0, heat_capacity = 1500.0, conductivity = 0.5 }}
regions = [{{ material = "m" }}{other}]
sources = [{source}]
"""
CONSTANT = "conductivity = 1.0, heat_capacity = 1000.0"
K_OF_T = "conductivity = { T = [0.0, 50.0, 200.0], value = [1.0, 1.5, 2.0] }"
K_ALONE = K_OF_T + ", heat_capacity = 1000.0"
CONVECTION = 'kind = "convection", coefficient = 10.0, ambient = 20.0'
RADIATION = 'kind = "radiation", emissivity = 0.9, ambient = 20.0'
PERFUSION = "perfusion = { coefficient = 200.0, temperature = 37.0 }"
QUARTER = "{ box = { lower = [0.0, 0.0, 0.0], upper = [1.0, 0.5, 0.5] } }"
LATENT = "conductivity = 1.0, heat_capacity = 1e3, latent = { heat = 2e5, solidus = 30.0, liquidus = 40.0 }"


class Kind(NamedTuple):
    """A material, where the other one is, what the face z_max has instead of what all others have, a source, and
    these."""

    material: str
    other: str = ""
    face: str = ""
    source: str = ""
    walls: str = 'kind = "fixed", temperature = 100.0'


KINDS = {
    "constant": Kind(CONSTANT),
    "convection": Kind(CONSTANT, face=CONVECTION),
    "convection h(T)": Kind(CONSTANT, face='kind = "convection", coefficient = "5 + 0.05 * T", ambient = 20.0'),
    "radiation": Kind(CONSTANT, face=RADIATION),
    "diagonal conductivity": Kind("conductivity = [1.0, 2.0, 3.0], heat_capacity = 1000.0"),
    "k(T)": Kind(K_ALONE),
    "k(T), convection": Kind(K_ALONE, face=CONVECTION),
    "k(T), convection everywhere": Kind(K_ALONE, walls='kind = "convection", coefficient = 10.0, ambient = 100.0'),
    "k(T), insulated": Kind(K_ALONE, walls='kind = "insulated"'),
    "k(T), radiation": Kind(K_ALONE, face=RADIATION),
    "k(T), c(T)": Kind(K_OF_T + ", heat_capacity = { T = [0.0, 50.0, 200.0], value = [1000.0, 1200.0, 1500.0] }"),
    "latent heat": Kind(LATENT),
    "source": Kind(CONSTANT, source="{ power_density = 1e4 }"),
    "source in a quarter": Kind(CONSTANT, source=f"{{ region = {QUARTER}, power_density = 1e4 }}"),
    "perfusion": Kind(CONSTANT, source=f"{{ {PERFUSION} }}"),
    "perfusion in a quarter": Kind(CONSTANT, source=f"{{ region = {QUARTER}, {PERFUSION} }}"),
    "layers": Kind(CONSTANT, other="sin(25.1327 * z) < 0"),
    "layers along x": Kind(CONSTANT, other="sin(25.1327 * x) < 0"),
    "thin layers along x": Kind(CONSTANT, other="sin(81.68 * x) < 0"),
    "cubes": Kind(CONSTANT, other="sin(25.1327 * x) * sin(25.1327 * y) * sin(25.1327 * z) < 0"),
    "k(T) in layers": Kind(K_ALONE, other="sin(25.1327 * z) < 0"),
    "k(T) in layers along x": Kind(K_ALONE, other="sin(25.1327 * x) < 0"),
    "k(T) in a die": Kind(K_ALONE, other="abs(x - 0.5) > 0.2 or abs(y - 0.5) > 0.2 or z < 0.7"),
    "k(T) in a quarter": Kind(K_ALONE, other="z > 0.25"),
}
KERNELS = {"cpu": ("cpu",), "cuda": ("register", "temporal")}
SMALL, SMALL_END = (20, 21, 37), 2e4  # cells, and s of the check on the CPU
FUSED = (131, 130, 9)  # cells of the check of `temporal`, which takes single steps of smaller grids
ALLOWED = 0.02  # of the range of temperatures: cells at a front err most


def problem(
    kind: str, precision: str, cells: tuple[int, int, int], *, integrator: str = "euler", device: str = "cpu"
) -> Problem:
    material, other, face, source, walls = KINDS[kind]
    given = {
        "cells": list(cells),
        "precision": precision,
        "material": material,
        "other": f', {{ material = "other", where = "{other}" }}' if other else "",
        "face": f", z_max = {{ {face} }}" if face else "",
        "source": source,
        "walls": walls,
        "time": f'integrator = "{integrator}"' + (", tolerance = 1e-4" if integrator == "implicit" else ""),
        "end": SMALL_END,
        "device": device,
    }
    return build_problem(loads(SCENARIO.format(**given)))


def stepped(kind: str, precision: str, kernel: str, cells: tuple[int, int, int]) -> np.ndarray:
    """A small field after a few steps."""
    small = problem(kind, precision, cells)
    state = State(small, make_field(small, kernel))
    euler.advance(state, 0.0, small.largest_step, 0, 9)
    return np.asarray(state.field.host())


def finished(kind: str, precision: str, integrator: str) -> np.ndarray:
    """A small field at its end, on the CPU."""
    small = problem(kind, precision, SMALL, integrator=integrator)
    state = State(small, make_field(small, "multigrid" if integrator == "implicit" else "cpu"))
    simulate(state, [], Timings())
    return state.temperature()


def failure(kind: str, precision: str, kernel: str) -> str | None:
    """Why a kind is not to be timed."""
    if kernel == "cpu":
        found, expected = (finished(kind, precision, name) for name in ("euler", "implicit"))
        difference = float(np.abs(found - expected).max() / 80.0)
        return f"differs from implicit by {difference:.1e} of the range" if difference > ALLOWED else None
    cells = FUSED if kernel == "temporal" else SMALL
    alike = np.array_equal(*(stepped(kind, precision, name, cells) for name in (kernel, "cpu")))
    return None if alike else "the CPU has other bits"


@dataclass
class Run:
    """A kind that is timed on n^3 cells. wait: for the device; seconds: of the rounds so far."""

    state: State
    step: float
    wait: Callable[[], None]
    seconds: list[float] = field(default_factory=list)

    def time_round(self, steps: int) -> float:
        """Seconds of so many steps; they are kept."""
        self.wait()
        begun = time.perf_counter()
        euler.advance(self.state, 0.0, self.step, 0, steps)
        self.wait()
        self.seconds.append(time.perf_counter() - begun)
        return self.seconds[-1]


def nothing() -> None:
    """Wait for a CPU, which is done when a call returns."""


def begun(kind: str, precision: str, kernel: str, n: int) -> Run:
    """A run that has compiled its kernels."""
    large = problem(kind, precision, (n, n, n))
    wait = import_module("numba.cuda").synchronize if kernel in KERNELS["cuda"] else nothing
    run = Run(State(large, make_field(large, kernel)), large.largest_step, wait)
    run.time_round(2)
    run.seconds.clear()
    return run


def steps_of_a_round(run: Run) -> int:
    """Steps that take about SECONDS_A_ROUND."""
    steps = 20
    while (taken := run.time_round(steps)) < 0.2:
        steps *= 2
    run.seconds.clear()
    return max(steps, round(steps * SECONDS_A_ROUND / taken))


def compare(kinds: list[str], precision: str, kernel: str, n: int, steps: int | None, rounds: int) -> bool:
    """Print a row for each kind; whether all were right."""
    constant, right = begun("constant", precision, kernel, n), True
    for kind in kinds:
        begin, wrong = f"{precision:10}{kernel:10}{kind:28}", failure(kind, precision, kernel)
        if wrong:
            print(f"{begin}    FAILED: {wrong}", flush=True)
            right = False
            continue
        run, seconds = begun(kind, precision, kernel, n), []
        mine, of_constant = (steps or steps_of_a_round(each) for each in (run, constant))
        constant.seconds = seconds
        for _ in range(rounds):
            run.time_round(mine)
            constant.time_round(of_constant)
        rate, expected = mine * n**3 / min(run.seconds), of_constant * n**3 / min(seconds)
        why = doubt(run.seconds) or doubt(seconds)
        ratio = f"    no ratio: {why}" if why else f"{rate / expected:13.2f}"
        print(f"{begin}{rate / 1e9:10.2f}{ratio}", flush=True)
    return right


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--device", choices=list(KERNELS), default="cpu")
    parser.add_argument("--n", type=int, default=160, help="cells an axis [160]")
    parser.add_argument("--precision", choices=["float32", "float64", "both"], default="both")
    parser.add_argument("--steps", type=int, help=f"steps of a round [what takes {SECONDS_A_ROUND:g} s]")
    parser.add_argument("--rounds", type=int, default=5, help="of each kind, in turn with `constant` [5]")
    parser.add_argument("--kernel", choices=KERNELS["cuda"], help="of a GPU [all]")
    parser.add_argument("--kind", choices=list(KINDS), action="append", help="kinds beside `constant` [all]")
    given = parser.parse_args()
    kinds = [kind for kind in KINDS if kind == "constant" or not given.kind or kind in given.kind]
    print(f"{'precision':10}{'kernel':10}{'kind':28}{'G cells/s':>10}{'of constant':>13}")
    right = True
    for precision in ("float32", "float64") if given.precision == "both" else (given.precision,):
        for kernel in KERNELS[given.device] if given.kernel is None else (given.kernel,):
            right = compare(kinds, precision, kernel, given.n, given.steps, given.rounds) and right
    return int(not right)


if __name__ == "__main__":
    sys.exit(main())
