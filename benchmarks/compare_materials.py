"""What materials, faces and sources that depend on temperature cost: rates of explicit steps against constants.

    python benchmarks/compare_materials.py --device cpu --size 160
    python benchmarks/compare_materials.py --device cuda --size 512

A cube of --size^3 cells with fixed walls, one of which may exchange heat, explicit Euler, with the energy ledger of all
walls. `of constant` is the ratio of the rate to that of constant properties with the same kernel, which take turns.

First each is solved on 20 x 21 x 37 cells (`temporal`: 131 x 130 x 9): on a GPU the result must have the bits of the
CPU's, and on the CPU it must be that of `implicit` to 2 % of the range. One that differs is reported as FAILED and not
timed (exit code 1).
"""

from __future__ import annotations

import sys
from functools import cache, partial
from itertools import product
from typing import NamedTuple

import numpy as np
import script

from heatsim.base.tables import TableColumn, ratio_columns
from heatsim.problem import Problem, build_problem
from heatsim.scenario import loads
from heatsim.simulation.time_loop import Timings, simulate
from heatsim.solve.integrators import euler, make_field
from heatsim.solve.state import State
from heatsim.studies.bench import harness
from heatsim.studies.bench.harness import Contender, Pace, Work, clock_of

SCENARIO = """
temperature_unit = "degC"
grid = {{ cells = {cells}, size = [1.0, 1.0, 1.0] }}
time = {{ end = {end!r}, {time} }}
compute = {{ precision = "{precision}", device = "cpu" }}
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


PROBLEMS = {
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
BATCH = 2  # steps
COLUMNS = (
    TableColumn("precision", lambda row: row["precision"]),
    TableColumn("kernel", lambda row: row["kernel"]),
    TableColumn("problem", lambda row: row["name"]),
    TableColumn("G cells/s", harness.rate_or_failure("rate")),
    *ratio_columns({"of constant": "of_constant"}),
)


def problem_of(kind: str, precision: str, cells: tuple[int, int, int], integrator: str = "euler") -> Problem:
    material, other, face, source, walls = PROBLEMS[kind]
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
    }
    return build_problem(loads(SCENARIO.format(**given)))


def verify(kind: str, precision: str, kernel: str) -> str:
    """What is wrong with the steps of a kind, or ""."""
    if kernel == "cpu":
        ends = []
        for integrator in ("euler", "implicit"):
            small = problem_of(kind, precision, SMALL, integrator)
            state = State(small, make_field(small, "multigrid" if integrator == "implicit" else "cpu"))
            simulate(state, [], Timings())
            ends.append(state.temperature())
        off = float(np.abs(ends[0] - ends[1]).max() / 80.0)
        return "" if off < ALLOWED else f"off by {off:.1e} of the range from `implicit`"
    fields = []
    for each in ("cpu", kernel):
        small = problem_of(kind, precision, FUSED if kernel == "temporal" else SMALL)
        state = State(small, make_field(small, each))
        euler.advance(state, 0.0, small.largest_step, 0, 9)
        fields.append(np.asarray(state.field.host()))
    return "" if fields[0].tobytes() == fields[1].tobytes() else "differs from the CPU"


def prepare(kind: str, precision: str, kernel: str, n: int) -> Work:
    """Make steps ready to be taken."""
    large = problem_of(kind, precision, (n, n, n))
    state = State(large, make_field(large, kernel))
    return lambda steps: euler.advance(state, 0.0, large.largest_step, 0, steps)


def main() -> int:
    """Time each problem in turn with constant properties."""
    offered = {"problem": PROBLEMS, "kernel": KERNELS["cuda"], "rounds": 5, "seconds": 1.5, "steps": None}
    given = script.options(__doc__, device="cpu", size=160, precision="both", **offered).parse_args()
    pace, clock, rows = Pace(given.seconds, BATCH, given.rounds, repetitions=given.steps), clock_of(given.device), []
    kinds = harness.chosen(["constant", *given.problem] if given.problem else (), PROBLEMS)
    kernels = harness.chosen(given.kernel, KERNELS[given.device])
    for precision, kernel in product(harness.precisions(vars(given)), kernels):
        about = {"precision": precision, "kernel": kernel}
        constant = prepare("constant", precision, kernel, given.size)
        for kind in kinds:
            contenders = [Contender("constant", harness.holding(constant), about=about)]
            if kind != "constant":
                steps = cache(partial(prepare, kind, precision, kernel, given.size))  # held ready through all rounds
                contenders.append(Contender(kind, steps, partial(verify, kind, precision, kernel), about))
            rows += [row for row in harness.race(contenders, "constant".__eq__, pace, clock) if row["name"] == kind]
    for row in (each for each in rows if "median" in each):
        row |= {"rate": given.size**3 / row["median"], "of_constant": 1.0 / row["times"]}
    return script.finish(given, COLUMNS, rows, group=lambda row: (row["precision"], row["kernel"]))


if __name__ == "__main__":
    sys.exit(main())
