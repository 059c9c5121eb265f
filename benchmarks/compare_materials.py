"""What materials cost on a GPU: rates of the kernel `register` for each kind of material against a uniform one.

    python benchmarks/compare_materials.py --n 512 --precision both

A cube of n^3 cells with fixed walls, explicit Euler, with the energy ledger of all walls: uniform, diagonal
conductivity, k(T), k(T) and c(T), latent heat, and k(T) in layers of two materials, an eighth of the cube each.

First each is solved on 20 x 21 x 37 cells, and the result must have the bits of the CPU's; one that has not is reported
as FAILED and not timed (exit code 1). Then rounds of `--steps` steps are timed, one kind after another, in one process;
the best counts. `of uniform` is the ratio of rates.
"""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np
from heatsim_kernels.runtime.cuda.api import device_name

from heatsim.integrators import euler, make_field
from heatsim.problem import Problem, build_problem
from heatsim.scenario import loads
from heatsim.simulation.state import State

SCENARIO = """
temperature_unit = "degC"
grid = {{ cells = {cells}, size = [1.0, 1.0, 1.0] }}
time = {{ end = 1e4, integrator = "euler" }}
compute = {{ precision = "{precision}" }}
initial = {{ temperature = "20 + 30 * x * y" }}
boundary = {{ default = {{ kind = "fixed", temperature = 100.0 }} }}
materials.m = {{ density = 1000.0, {material} }}
materials.other = {{ density = 1000.0, heat_capacity = 1500.0, conductivity = 0.5 }}
regions = [{{ material = "m" }}{layers}]
"""
LAYERS = ', { material = "other", where = "sin(25.1327 * z) < 0" }'
K_OF_T = "conductivity = { T = [0.0, 50.0, 200.0], value = [1.0, 1.5, 2.0] }"
KINDS = {
    "uniform": "conductivity = 1.0, heat_capacity = 1000.0",
    "diagonal conductivity": "conductivity = [1.0, 2.0, 3.0], heat_capacity = 1000.0",
    "k(T)": K_OF_T + ", heat_capacity = 1000.0",
    "k(T), c(T)": K_OF_T + ", heat_capacity = { T = [0.0, 50.0, 200.0], value = [1000.0, 1200.0, 1500.0] }",
    "latent heat": "conductivity = 1.0, heat_capacity = 1e3, latent = { heat = 2e5, solidus = 30.0, liquidus = 40.0 }",
    "k(T) in layers": K_OF_T + ", heat_capacity = 1000.0",
}
ROUNDS = 4


def problem(kind: str, precision: str, cells: tuple[int, int, int]) -> Problem:
    layers = LAYERS if kind.endswith("layers") else ""
    given = {"cells": list(cells), "precision": precision, "material": KINDS[kind], "layers": layers}
    return build_problem(loads(SCENARIO.format(**given)))


def stepped(kind: str, precision: str, kernel: str) -> np.ndarray:
    """A small field after a few steps."""
    small = problem(kind, precision, (20, 21, 37))
    state = State(small, make_field(small, kernel))
    euler.advance(state, 0.0, small.largest_step, 0, 5)
    return np.asarray(state.field.host())


def rate(kind: str, precision: str, n: int, steps: int) -> float:
    """Cells a second, in the best of some rounds."""
    large = problem(kind, precision, (n, n, n))
    state, times = State(large, make_field(large, "register")), []
    for _ in range(ROUNDS + 1):
        state.field.is_finite()  # waits for the GPU
        begun = time.perf_counter()
        euler.advance(state, 0.0, large.largest_step, 0, steps)
        state.field.is_finite()
        times.append(time.perf_counter() - begun)
    return steps * n**3 / min(times[1:])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--n", type=int, default=512, help="cells an axis [512]")
    parser.add_argument("--precision", choices=["float32", "float64", "both"], default="both")
    parser.add_argument("--steps", type=int, default=20, help="steps of a round [20]")
    given, failed = parser.parse_args(), False
    try:
        print(device_name())
    except RuntimeError as error:
        parser.error(f"a GPU is needed: {error}")
    print(f"{'precision':10}{'material':24}{'G cells/s':>10}{'of uniform':>12}")
    for precision in ("float32", "float64") if given.precision == "both" else (given.precision,):
        uniform = np.nan
        for kind in KINDS:
            if not np.array_equal(stepped(kind, precision, "register"), stepped(kind, precision, "cpu")):
                print(f"{precision:10}{kind:24}    FAILED: the CPU has other bits")
                failed = True
                continue
            found = rate(kind, precision, given.n, given.steps)
            uniform = found if kind == "uniform" else uniform
            print(f"{precision:10}{kind:24}{found / 1e9:10.1f}{found / uniform:12.2f}", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
