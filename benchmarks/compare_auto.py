"""Whether `auto` takes the fastest integrator that keeps the tolerance: twelve problems, six of them nonlinear.

    python benchmarks/compare_auto.py

Each is run by every integrator. The error is the largest difference from a run by `implicit` in float64 to a tenth of
the tolerance (what melts: by `euler` in float64, in tenths of its steps), as a share of the range of temperatures. The
best is the fastest whose error is within the tolerance; `of best` is the time of the integrator that `auto` recommends
over its time. A run that takes longer than `--limit` s is cut short. Exit code 1 if `auto` errs by more than the
tolerance.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass
from functools import partial

import numpy as np

from heatsim.bench.rounds import LEAST_SECONDS
from heatsim.integrators import make_field
from heatsim.problem import Problem, build_problem
from heatsim.scenario import loads
from heatsim.simulation.preparing import recommend_integrator
from heatsim.simulation.state import State
from heatsim.simulation.time_loop import Progress, Timings, simulate

FINER = 10.0  # tolerances in that of the reference, or its steps in one of `euler`
SILICON = 'density = 2330.0, heat_capacity = 710.0, conductivity = "148*(300/(T + 273.15))**1.3"'
COPPER = "density = 8900.0, heat_capacity = 385.0, conductivity = 400.0"
RESIN = "density = 1900.0, heat_capacity = 1100.0, conductivity = 0.3"
ALUMINIUM = "density = 2700.0, heat_capacity = 1000.0, conductivity = 200.0"
CASTING = f"{ALUMINIUM}, latent = {{ heat = 4e5, solidus = 560.0, liquidus = 620.0 }}"


@dataclass(frozen=True)
class Case:
    """A problem in degC, on a box of `size` m: what is said of each part of a scenario."""

    cells: tuple[int, int, int]
    size: tuple[float, float, float]
    end: float
    materials: dict[str, str]
    faces: str
    initial: str = "20.0"
    others: str = ""

    def text(self) -> str:
        materials = "\n".join(f"materials.{name} = {{ {given} }}" for name, given in self.materials.items())
        regions = ""
        if "regions" not in self.others:
            regions = f'regions = [{{ material = "{next(iter(self.materials))}" }}]'
        return f"""
temperature_unit = "degC"
grid = {{ cells = {list(self.cells)}, size = {list(self.size)} }}
time = {{ end = {self.end!r} }}
initial = {{ temperature = {self.initial} }}
boundary = {{ {self.faces} }}
{materials}
{regions}
{self.others}
"""


AIR = 'z_max = { kind = "convection", coefficient = 10.0, ambient = 20.0 }'
FREE_AIR = 'z_max = { kind = "convection", coefficient = "5*(1 + abs(T - 20)/50)**0.25", ambient = 20.0 }'
RADIATING = 'z_max = { kind = "radiation", emissivity = 0.9, ambient = 20.0 }'
COLD = 'z_min = { kind = "fixed", temperature = 20.0 }'
HOT = 'z_min = { kind = "fixed", temperature = 100.0 }'
CHIP_BOX = "box = { lower = [0.002, 0.002, 0.003], upper = [0.004, 0.004, 0.004] }"
CHIP = f"sources = [{{ region = {{ {CHIP_BOX} }}, power = 5.0 }}]"
BOARD = 'regions = [{ material = "resin" }, { material = "silicon", where = "z > 0.003" }]\n'
MM4 = (0.006, 0.006, 0.004)
CASES = {
    "heated cube": Case((48, 48, 48), (0.1, 0.1, 0.1), 60.0, {"aluminium": ALUMINIUM}, HOT),
    "decay of a bump": Case((48, 48, 48), (0.1, 0.1, 0.1), 5.0, {"copper": COPPER}, "", '"100*exp(-(x*x+y*y)/4e-4)"'),
    "thin sheet in air": Case((80, 80, 2), (0.1, 0.1, 0.001), 300.0, {"copper": COPPER}, AIR, '"20 + 500*x"'),
    "chip, constant": Case((48, 48, 32), MM4, 5.0, {"copper": COPPER}, COLD, others=CHIP),
    "wall through a day": Case(
        (200, 4, 4), (0.4, 0.1, 0.1), 86400.0, {"resin": RESIN},
        'x_min = { kind = "fixed", temperature = "20 + 5*sin(2*pi*t/86400)" }',
    ),
    "resin and copper": Case(
        (32, 32, 48), (0.02, 0.02, 0.01), 20.0, {"resin": RESIN, "copper": COPPER}, HOT,
        others='regions = [{ material = "resin" }, { material = "copper", where = "sin(2000*z) > 0.5" }]',
    ),
    "k(T) slab": Case((48, 48, 48), (0.01, 0.01, 0.01), 1.0, {"silicon": SILICON}, HOT),
    "transistor on a board": Case(
        (48, 48, 32), MM4, 5.0, {"resin": RESIN, "silicon": SILICON}, f"{COLD}, {FREE_AIR}", others=BOARD + CHIP
    ),
    "radiating plate": Case((48, 48, 16), (0.1, 0.1, 0.02), 200.0, {"aluminium": ALUMINIUM}, RADIATING, "500.0"),
    "h(T) on resin": Case((64, 64, 16), (0.05, 0.05, 0.005), 100.0, {"resin": RESIN}, FREE_AIR, "200.0"),
    "casting": Case((40, 40, 40), (0.05, 0.05, 0.05), 20.0, {"casting": CASTING}, COLD, "680.0"),
    "thin k(T) die": Case((64, 64, 8), (0.02, 0.02, 4e-4), 0.5, {"silicon": SILICON}, AIR, '"20 + 2000*x"'),
}  # fmt: skip


@dataclass(frozen=True)
class Outcome:
    """seconds: in the time loop, the second time; finished: whether it came to its end."""

    seconds: float
    temperature: np.ndarray
    finished: bool


def run(problem: Problem, limit: float) -> Outcome:
    kernel = "multigrid" if problem.scenario.time.solves else "cpu"
    warm = State(problem, make_field(problem, kernel))
    begun = time.perf_counter()
    simulate(warm, [], Timings(), partial(_first_only, begun, 0.5))  # compiles
    state, begun = State(problem, make_field(problem, kernel)), time.perf_counter()
    finished = simulate(state, [], Timings(), partial(_first_only, begun, limit))
    return Outcome(time.perf_counter() - begun, state.temperature().astype(np.float64), finished)


def _first_only(begun: float, limit: float, progress: Progress) -> bool:
    return progress.steps == 0 or time.perf_counter() - begun < limit


def compare(name: str, case: Case, tolerance: float, limit: float) -> bool:
    """Print the row of a problem; whether `auto` kept the tolerance."""
    given = [f"time.tolerance={tolerance!r}"]
    problem = build_problem(loads(case.text(), overrides=given))
    finer = build_problem(loads(case.text(), overrides=[*given, "compute.precision=float64"]))
    if problem.melts:
        finer = finer.with_integrator("euler", tolerance, finer.largest_step / FINER)
    else:
        finer = finer.with_integrator("implicit", tolerance / FINER)
    reference = run(finer, 10 * limit)
    start = np.stack(list(problem.initial_planes())) + problem.reference
    extent = max(start.max(), reference.temperature.max()) - min(start.min(), reference.temperature.min())
    advice = recommend_integrator(problem, full=True)
    outcomes = {}
    for integrator in ("euler", "rkl2", "implicit"):
        step = advice.step if integrator == "euler" else None
        outcomes[integrator] = run(problem.with_integrator(integrator, tolerance, step), limit)
    errors = {
        each: float(np.abs(found.temperature - reference.temperature).max() / extent) if found.finished else np.inf
        for each, found in outcomes.items()
    }
    good = {each: outcomes[each].seconds for each, error in errors.items() if error <= tolerance}
    best = min(good, key=good.__getitem__) if good else advice.integrator
    cells = "".join(_cells(found, errors[each] / tolerance, limit) for each, found in outcomes.items())
    mine, fastest = outcomes[advice.integrator].seconds, outcomes[best].seconds
    # One run each: a ratio of times below a second would be that of the machine's other work.
    short = advice.integrator != best and min(mine, fastest) < LEAST_SECONDS
    ratio = "-" if short else f"{mine / fastest:.2f}"
    ended = "" if reference.finished else "  (reference cut short)"
    print(f"{name:24}{cells}  {advice.integrator:9}{best:9}{ratio:>7}{ended}", flush=True)
    return errors[advice.integrator] <= tolerance


def _cells(found: Outcome, error: float, limit: float) -> str:
    return f"{found.seconds:9.2f}{error:7.2f}" if found.finished else f"{'> ' + format(limit, 'g'):>9}{'':7}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tolerance", type=float, default=1e-3)
    parser.add_argument("--limit", type=float, default=30.0, help="seconds of a run [30]")
    parser.add_argument("--case", choices=list(CASES), action="append")
    given = parser.parse_args()
    heads = "".join(f"{each + ', s':>9}{'error':>7}" for each in ("euler", "rkl2", "implicit"))
    print(f"{'problem':24}{heads}  {'auto':9}{'best':9}{'of best':>7}\n(errors in tolerances)")
    right = [compare(name, CASES[name], given.tolerance, given.limit) for name in given.case or CASES]
    return int(not all(right))


if __name__ == "__main__":
    sys.exit(main())
