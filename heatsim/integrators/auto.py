"""Which integrator takes a problem to its end soonest, as accurately as was asked for; and why.

`integrator = "auto"` promises an error in time within `time.tolerance` of the range of temperatures, 1e-3 if left out:
integrators that control their error do so with this tolerance, and explicit Euler, which does not, is taken only where
its steps are so many that the error must be below.

Steps are counted before anything is computed, by a model. What starts with a jump, of the initial temperature at a wall
or of a source, has no time scale but its age; so a step under error control is a share of the age, which the tolerance
sets, and many more than the stability limit once it is old. Smooth problems need fewer steps than that. A beam that
moves heats every place on its way anew: a step is a share of the time in which it passes one.

Rounding counts where an explicit integrator keeps its state in float32. An update of a cell is rounded by at most eps/2
of the range, so that n updates that are all rounded the same way are wrong by n eps/2 of it: so it goes where a
temperature changes by less than a unit of its last place in a step, and if it is less than half of one, nothing is
computed at all. The rounding of one stage of rkl2 grows to up to s/e times as much in the s stages of a step (in the
Legendre recurrence a difference falls like 1/j), that of all to s^2/4 + s roundings: a step may lose as much as the
s^2/4 explicit steps that it stands for. Where a step is many units it is rounded up as often as down, and little is
lost; so a share of the worst case is taken, `ROUNDING_SHARES`. implicit keeps its state in float64.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from math import inf, pi
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np

from heatsim.integrators import rkl2
from heatsim.integrators.step_control import DEFAULT_TOLERANCES, SAFETY, allowed_step_error, count_equal_steps
from heatsim.integrators.tableaus import METHODS
from heatsim.problem.events import find_events

if TYPE_CHECKING:
    from heatsim_kernels.stencil import ExplicitStepper

    from heatsim.problem import Problem

CONTROLLED = ("rkl2", "implicit")  # integrators that may be taken besides Euler
MAX_SHARE_OF_EULER = 0.8  # of its seconds: the estimates are rough, and nothing is simpler
MAX_UPDATES_OF_EULER = 1e8  # cell updates that take any machine less than a second
CELLS_A_LAUNCH = 100  # cells that are updated in the time that a step takes however few there are
MAX_TIMING_SECONDS = 0.1  # s that each of two timings takes at most, beside compiling
TIMED_STEPS = 8  # steps timed at once, as a run takes them
MAX_EVENTS = 10_000  # that are looked at one by one

# Largest error of a step dt at age t is about c (dt/t)^3 of the jump: of a decaying mode, most x^3 exp(-x), 1.34,
# times the error constant of the method (rkl2 1/18, TR-BDF2 0.04). Of backward Euler c (dt/t)^2, most x^2 exp(-x)/2.
ERROR_CONSTANTS = {"rkl2": 0.075, "tr-bdf2": 0.054, "backward-euler": 0.27}
EULER_ERROR_CONSTANT = 0.27  # of the jump times dt/t: half the greatest x^2 exp(-x) over all modes
# Of a beam that passes a place in a standard deviation s, T''' is about 0.4 jump/s^3, the heating rate being a normal
# distribution in time: a step with the error of one at age t is PASSES s/t times as long.
PASSES = 1.5
PERIODS = 3.0  # of inputs that depend on time, in a run, which Euler has to follow: dt/2 dT/dt behind them
# Of eps/2 of the range an update or explicit step: the greatest error measured, of a plate that cools slowly in air far
# colder; walls, sources and modes lost a fifth of that or less.
ROUNDING_SHARES = {"euler": 0.2, "rkl2": 0.07}
# A stage takes as long as so many single explicit sweeps, which read and write 2 fields: 3 if it is `bare`, else 5. The
# CPU and `temporal` take several bare stages a pass.
SWEEPS_A_STAGE = {"cpu": (1.1, 2.2), "cuda": (0.9, 2.5)}
# A step of implicit, with all its solves, by device: explicit steps that take as long, and seconds of the host beside.
EULER_STEPS_A_SOLVE = {"cpu": 400.0, "cuda": 300.0}
HOST_SECONDS_A_SOLVE = {"cpu": 8e-3, "cuda": 15e-3}
SETUP_STEPS = 5  # steps that an implicit run takes longer, for its matrices


class StepCost(NamedTuple):
    """Seconds of explicit Euler: `step` in a batch of many, `sweep` alone."""

    step: float
    sweep: float


@dataclass(frozen=True)
class IntegratorEstimate:
    """What an integrator would take: steps, sweeps of the stencil (0 where it solves) and seconds; `refused`: why it is
    not to be had, or not accurate enough; lost: share of the range that rounding may cost."""

    integrator: str
    steps: int
    sweeps: int
    seconds: float
    refused: str = ""
    lost: float = 0.0


@dataclass(frozen=True)
class Recommendation:
    """The integrator to take, the reason, the tolerance that it is to keep, and what all were estimated at; hint: what
    would allow more of them."""

    integrator: str
    reason: str
    tolerance: float
    estimates: tuple[IntegratorEstimate, ...]
    hint: str = ""


def recommend(
    problem: Problem, device: str, measure: Callable[[], StepCost], refused: dict[str, str] | None = None, *, full: bool
) -> Recommendation:
    """The advice for a problem on "cpu" or "cuda".

    `refused`: integrators that cannot be had, with the reason; `full`: estimate all of them, even if Euler is done in
    no time, and advise the same.
    """
    tolerance = problem.scenario.time.tolerance or DEFAULT_TOLERANCES["rkl2"]
    if problem.temperature_dependent:
        return _recommend_euler(problem, measure, tolerance, full=full)
    refused = refused or {}
    steps = count_steps(problem.with_integrator("euler", None) if _allows_euler(problem) else problem)
    unfit = refused.get("euler") or _euler_refusal(problem, steps, tolerance)
    lost = 0.0 if unfit else _rounding_loss(problem, "euler", steps)
    unfit = unfit or _rounding_refusal(problem, lost, tolerance)
    few = not unfit and steps * (problem.grid.cells + CELLS_A_LAUNCH) <= MAX_UPDATES_OF_EULER
    reason = f"{steps} steps are done in no time"
    if few and not full:
        return Recommendation("euler", reason, tolerance, (IntegratorEstimate("euler", steps, steps, 0.0),))
    cost = measure()
    estimates = [IntegratorEstimate("euler", steps, steps, steps * cost.step, unfit, lost)]
    for name in CONTROLLED:
        estimates.append(_estimate_controlled(problem, name, tolerance, device, cost, refused.get(name, "")))
    return (
        Recommendation("euler", reason, tolerance, tuple(estimates))
        if few
        else _recommend_fastest(problem, estimates, tolerance, refused)
    )


def _recommend_euler(
    problem: Problem, measure: Callable[[], StepCost], tolerance: float, *, full: bool
) -> Recommendation:
    """Where something follows temperature: what `implicit` takes for a step is not known beforehand."""
    steps = count_steps(problem.with_integrator("euler", None) if _allows_euler(problem) else problem)
    seconds = steps * measure().step if full else 0.0
    reason = 'its steps follow temperature at once; integrator = "implicit" takes longer ones, each far dearer'
    return Recommendation("euler", reason, tolerance, (IntegratorEstimate("euler", steps, steps, seconds),))


def _recommend_fastest(
    problem: Problem, estimates: list[IntegratorEstimate], tolerance: float, refused: dict[str, str]
) -> Recommendation:
    """The soonest of those that are accurate enough, or the last that can be had, if none is."""
    possible = [estimate for estimate in estimates if not estimate.refused]
    possible = possible or [estimate for estimate in estimates if estimate.integrator not in refused][-1:]
    best = min(possible, key=lambda estimate: estimate.seconds)
    first = possible[0]
    if first.integrator == "euler" and best.seconds > MAX_SHARE_OF_EULER * first.seconds:
        best = first
    others = "; ".join(
        f"{other.integrator} {other.refused or f'about {other.seconds:.2g} s'}"
        for other in estimates
        if other is not best
    )
    though = f", though it {best.refused}" if best.refused else ""
    hint = _precision_hint(problem, estimates, tolerance)
    reason = f"about {best.seconds:.2g} s{though}; {others}{hint and f'; {hint}'}"
    return Recommendation(best.integrator, reason, tolerance, tuple(estimates), hint)


def _precision_hint(problem: Problem, estimates: list[IntegratorEstimate], tolerance: float) -> str:
    """What float64 would make possible, or ""."""
    finer = float(np.finfo(np.float64).eps / np.finfo(problem.dtype).eps)
    names = [each.integrator for each in estimates if each.lost > tolerance >= finer * each.lost]
    return f'compute.precision = "float64" would make {" and ".join(names)} accurate enough' if names else ""


def count_steps(problem: Problem) -> int:
    """Number of steps of the largest size: between any two events an equal division of the time."""
    events = find_events(problem).after_start
    return sum(count_equal_steps(start, target, problem.largest_step) for start, target in pairwise([0.0, *events]))


def _allows_euler(problem: Problem) -> bool:
    step = problem.scenario.time.step
    return isinstance(step, str) or step <= problem.stability_limit * (1 + 1e-12)


def _euler_refusal(problem: Problem, steps: int, tolerance: float) -> str:
    """Why explicit Euler would not be accurate enough, or ""."""
    if not _allows_euler(problem):
        return "would need shorter steps to be stable"
    first = find_events(problem).after_start[0]
    step = problem.scenario.time.end / steps
    if EULER_ERROR_CONSTANT * step > tolerance * first:
        return f"has too few steps before t = {first:g} s for the tolerance"
    varies = problem.walls.varies or problem.volume_sources.varies
    if varies and 0.5 * pi * PERIODS * step > tolerance * problem.scenario.time.end:
        return "has too few steps to follow inputs that depend on time"
    return ""


def _rounding_loss(problem: Problem, integrator: str, updates: float) -> float:
    """Share of the range that rounding may cost an explicit integrator: see above."""
    return ROUNDING_SHARES[integrator] * updates * float(np.finfo(problem.dtype).eps) / 2


def _rounding_refusal(problem: Problem, lost: float, tolerance: float) -> str:
    """Why rounding would not leave an explicit integrator accurate enough, or ""."""
    if lost <= tolerance:
        return ""
    return f"may lose {lost:.2g} of the range to rounding in {problem.dtype.name}, beyond the tolerance"


def _estimate_controlled(
    problem: Problem, name: str, tolerance: float, device: str, cost: StepCost, refused: str
) -> IntegratorEstimate:
    """Of an integrator that controls its error."""
    problem = problem.with_integrator(name, tolerance)
    longest, limit = problem.largest_step, problem.stability_limit
    method, order = name, rkl2.ERROR_ORDER
    if name == "implicit":
        method = problem.scenario.time.method
        order = METHODS[method].embedded_order
    share = SAFETY * (allowed_step_error(tolerance, order) / ERROR_CONSTANTS[method]) ** (1 / order)
    if name == "implicit":
        steps, _ = _march(problem, share, longest, lambda dt: 0)
        solve = EULER_STEPS_A_SOLVE[device] * cost.step + HOST_SECONDS_A_SOLVE[device]
        return IntegratorEstimate(name, steps, 0, (steps + SETUP_STEPS) * solve, refused)
    varies = problem.walls.varies or problem.volume_sources.varies
    longest = min(longest, rkl2.rkl2_scheme(rkl2.max_stages(problem.dtype, tolerance, varies)).limit * limit)
    steps, sweeps = _march(problem, share, longest, lambda dt: 1 + rkl2.stages_for(dt / limit))
    stage = cost.sweep * SWEEPS_A_STAGE[device][varies]
    updates = max(sweeps, problem.scenario.time.end / limit)
    lost = 0.0 if refused else _rounding_loss(problem, name, updates)
    return IntegratorEstimate(
        name, steps, sweeps, sweeps * stage, refused or _rounding_refusal(problem, lost, tolerance), lost
    )


def _march(problem: Problem, share: float, longest: float, sweeps_of: Callable[[float], int]) -> tuple[int, int]:
    """Steps and sweeps under error control: each step is `share` of the time since the last jump."""
    found = find_events(problem)
    events, restarts = found.after_start, found.restarts
    if len(events) > MAX_EVENTS:
        longest = min(longest, problem.scenario.time.end / len(events))
        events = tuple(sorted({*restarts, events[-1]}))
    least = min(problem.stability_limit, longest)
    now, born, steps, sweeps = 0.0, 0.0, 0, 0
    for event in events:
        while now < event:
            most = min([longest, *(PASSES * share * beam.passage(now) for beam in problem.volume_sources.beams)])
            size = min(max(least, share * (now - born)), most)
            count = count_equal_steps(now, event, size)
            dt = (event - now) / count
            taken = count if size == most else 1
            steps, sweeps = steps + taken, sweeps + taken * sweeps_of(dt)
            now = event if taken == count else now + dt
        born = event if event in restarts else born
    return steps, sweeps


def measure_step_cost(problem: Problem, kernel: str) -> StepCost:
    """Time steps of explicit Euler on the problem itself, with a stencil kernel."""
    from heatsim.integrators import euler, make_field
    from heatsim.simulation.state import State

    taken = problem.with_integrator("euler", None) if _allows_euler(problem) else problem
    state = State(taken, make_field(taken, kernel))
    batch = min(TIMED_STEPS, taken.batch)
    dt = min(taken.largest_step, problem.stability_limit, problem.scenario.time.end / batch)  # no input is known after

    sweep, drive = cast("ExplicitStepper", state.sweep), taken.drive(np.zeros(1), dt)

    def steps() -> float:
        begun = time.perf_counter()
        euler.advance(state, 0.0, dt, 0, batch)
        sweep.is_finite()  # waits for the device
        return (time.perf_counter() - begun) / batch

    def sweeps() -> float:
        begun = time.perf_counter()
        for _ in range(TIMED_STEPS):
            sweep.advance(dt, 1, drive)
        sweep.is_finite()
        return (time.perf_counter() - begun) / TIMED_STEPS

    return StepCost(_min_seconds(steps), _min_seconds(sweeps))


def _min_seconds(timing: Callable[[], float]) -> float:
    """The least of several timings, after one that compiles; another is made until they have taken TIMING s."""
    timing()
    begun, best = time.perf_counter(), inf
    while best == inf or time.perf_counter() - begun < MAX_TIMING_SECONDS:
        best = min(best, timing())
    return best
