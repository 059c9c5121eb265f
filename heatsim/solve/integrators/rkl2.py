"""Super time stepping: second order Runge-Kutta-Legendre methods of s stages, RKL2.

s explicit stages are stable over (s^2 + s - 2)/4 steps of explicit Euler: the stability polynomial is
a + b P_s(1 + w z), with P_s the Legendre polynomial, w = 4/(s^2 + s - 2), and a + b = 1 such that 1 + z + z^2/2 is
matched. It is positive for odd s, so what decays too fast to be resolved does not ring; a step halves it, roughly.

Two schemes have this polynomial. `rkl2_scheme` is that of the paper: each stage is a second order solution at a time of
its own within the step, at which the boundary values and sources are evaluated. Where these do not depend on time,
`two_term_scheme` is enough, the Legendre recurrence itself: its stages read two fields in place of four, and the last
stage takes the mean with Y_0. Both schemes meet two order conditions, sum w = 1 and sum w c = 1/2, and any method that
meets them is of order 2. Where something melts the recurrence errs four times as much as the paper's scheme, since its
stages go up to two steps ahead.

Meyer, Balsara and Aslam: Mon. Not. R. Astron. Soc. 422 (2012) 2102; J. Comput. Phys. 257 (2014) 594.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import ceil, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
from heatsim_kernels.explicit.rk_stages import RkStage

from heatsim.base import methods
from heatsim.base.methods import DEFAULT_TOLERANCE
from heatsim.solve.integrators.integrator import (
    EstimateInputs,
    Integrator,
    IntegratorEstimate,
    Rows,
    SavedState,
    StepControl,
)
from heatsim.solve.integrators.mean_inputs import MeanInputs, lacking_weights
from heatsim.solve.integrators.rounding import rounding_loss, rounding_refusal
from heatsim.solve.integrators.step_control import (
    CHECK_EVERY,
    EqualSteps,
    ErrorControl,
    TrialStep,
    foresee_steps,
    require_finite,
    step_share,
    typical_step,
)

if TYPE_CHECKING:
    from heatsim_kernels.explicit.coefficients import Forcing

    from heatsim.problem import Problem
    from heatsim.solve.state import State

MIN_STAGES, MAX_STAGES = 3, 511
ERROR_ORDER = 3  # of the error of a step, as a power of it
# Where something melts, the temperature has a kink at the front, and each cell that the front reaches has one in time.
# No step resolves it, so that the estimated error falls but slowly with the step, and is far from the error: steps are
# then taken by the age of what they follow, if the estimate asks for shorter ones, and have few stages. Measured on
# Stefan's problem: the error of a temperature grows like the cube of the stages; and on a cube that melts from all its
# walls: like the step, and it is three times the tolerance at a step of 5.4 tolerance times the age, at most.
STAGES_OF_MELTING, MIN_STAGES_OF_MELTING = 31, 9  # for a tolerance of 1e-2, and at least
AGE_SHARE_OF_MELTING = 5.4  # a step over age and tolerance
WARM_UP = 12.0  # stability limits: a super step so long has stages enough to be taken several at once

# Of the jump times (dt/t)^3, the largest error of a step dt at age t: of a decaying mode, most x^3 exp(-x), 1.34, times
# the error constant of the method, 1/18.
ERROR_CONSTANT = 0.075
ROUNDING_SHARE = 0.07  # of eps/2 of the range an explicit step, measured as that of `euler` was
# A stage takes as long as so many single explicit sweeps, which read and write 2 fields: 3 if it is of the two-term
# scheme, else 5. The CPU and `temporal` take several stages of the former a pass.
SWEEPS_A_STAGE = {"cpu": (1.1, 2.2), "cuda": (0.9, 2.5)}
# Of Python, s: of a stage, and of a step whose inputs stay or depend on time. It is what counts on small grids: 1.0 ms
# were measured of a step of 11 stages on 200 cells with a face in t, of which inputs take a third.
HOST_SECONDS_A_STAGE, HOST_SECONDS_A_STEP = 5e-5, (1e-4, 5e-4)


@dataclass(frozen=True)
class Rkl2Scheme:
    """Coefficients of a method, for j = 1 ... s (Meyer et al. 2014, equations 16 and 17):

    Y_j = (1 - mu - nu) Y_0 + mu Y_{j-1} + nu Y_{j-2} + mu_tilde dt L(Y_{j-1}) + gamma_tilde dt L(Y_0)

    c: (s + 1,) times of Y_0 ... Y_s in steps. mu of Y_1 is 1, which adds nothing.
    """

    stages: int
    mu: tuple[float, ...]
    nu: tuple[float, ...]
    mu_tilde: tuple[float, ...]
    gamma_tilde: tuple[float, ...]
    c: tuple[float, ...]

    @property
    def limit(self) -> float:
        """The longest stable step, in steps that explicit Euler may take."""
        return 1.0 / _w(self.stages)

    @property
    def share_of_defect(self) -> float:
        """Local error over the defect from the trapezoidal rule, as steps grow short.

        Of the polynomial 1 + z + z^2/2 + r z^3: (1/6 - r) z^3 over (1/4 - r) z^3. 0.4 for many stages.
        """
        s = self.stages
        r = (s * s + s - 6) / (s * s + s - 2) / 9
        return (1 / 6 - r) / (1 / 4 - r)

    @cached_property
    def lacking(self) -> np.ndarray:
        """(4,) the weights of what the mean of inputs lacks: see `lacking_weights`."""
        return lacking_weights(self.c[:-1], np.array([each.weight for each in self.rounded(np.dtype(np.float64))]))

    def rounded(self, dtype: np.dtype) -> tuple[RkStage, ...]:
        """The stages as sweeps of a precision take them; with the weights of these very numbers, so that the energy
        ledger agrees with the field."""
        real = np.dtype(dtype).type
        stages = []
        for mu, nu, rate, gamma in zip(self.mu, self.nu, self.mu_tilde, self.gamma_tilde, strict=True):
            before, first, of_now = (float(real(value)) for value in (nu, gamma / self.mu_tilde[0], rate))
            stage = RkStage(mu, before, first, of_now, weight=0.0)
            stages.append(stage._replace(mu=1.0 - stage.nu if stage.of_two else float(real(mu))))
        return tuple(stage._replace(weight=w) for stage, w in zip(stages, stage_weights(stages), strict=True))


def stage_weights(stages: list[RkStage]) -> list[float]:
    """Share of dt L(Y_{j-1}) in Y_s, for j = 1 ... s: the recurrence run backwards.

    With p_j how much of a change of Y_j comes out in Y_s: p_s = 1, p_j = mu_{j+1} p_{j+1} + nu_{j+2} p_{j+2}, and for
    Y_1 also all gamma_j p_j.
    """
    passed = [0.0] * (len(stages) + 3)
    passed[len(stages)] = 1.0
    mu, nu = [0.0, *(s.mu for s in stages), 0.0, 0.0], [0.0, *(s.nu for s in stages), 0.0, 0.0]
    for j in range(len(stages) - 1, 0, -1):
        passed[j] = mu[j + 1] * passed[j + 1] + nu[j + 2] * passed[j + 2]
    passed[1] += sum(stage.gamma * passed[j] for j, stage in enumerate(stages, start=1) if j > 1)
    return [stage.rate * passed[j] for j, stage in enumerate(stages, start=1)]


def _w(s: int) -> float:
    return 4.0 / (s * s + s - 2)


def _b(j: int) -> float:
    return 1 / 3 if j < 2 else (j * j + j - 2) / (2 * j * (j + 1))


@lru_cache(maxsize=64)
def rkl2_scheme(stages: int) -> Rkl2Scheme:
    """Every stage a second order solution at its own time, (j^2 + j - 2)/(s^2 + s - 2) steps on."""
    w, js = _w(stages), range(2, stages + 1)
    mu = [1.0, *((2 * j - 1) / j * _b(j) / _b(j - 1) for j in js)]
    nu = [0.0, *(-(j - 1) / j * _b(j) / _b(j - 2) for j in js)]
    mu_tilde = [_b(1) * w, *(w * m for m in mu[1:])]
    gamma_tilde = [0.0, *((_b(j - 1) - 1.0) * mu_tilde[j - 1] for j in js)]
    return _timed(stages, mu, nu, mu_tilde, gamma_tilde)


@lru_cache(maxsize=64)
def two_term_scheme(stages: int) -> Rkl2Scheme:
    """The Legendre recurrence, and in the last stage the mean of its end and Y_0."""
    w, js, b = _w(stages), range(2, stages + 1), _b(stages)
    ends = [1.0] * (stages - 1) + [b]
    mu = [1.0, *((2 * j - 1) / j * ends[j - 1] for j in js)]
    nu = [0.0, *(-(j - 1) / j * ends[j - 1] for j in js)]
    return _timed(stages, mu, nu, [w, *(w * m for m in mu[1:])], [0.0] * stages)


def _timed(
    stages: int, mu: list[float], nu: list[float], mu_tilde: list[float], gamma_tilde: list[float]
) -> Rkl2Scheme:
    """The times of the stages are what they make of dy/dt = 1 from y = 0."""
    before, c = 0.0, [0.0]
    for m, n, rate, first in zip(mu, nu, mu_tilde, gamma_tilde, strict=True):
        before, now = c[-1], m * c[-1] + n * before + rate + first
        c.append(now)
    return Rkl2Scheme(stages, tuple(mu), tuple(nu), tuple(mu_tilde), tuple(gamma_tilde), tuple(c))


def stages_for(steps: float) -> int:
    """The fewest stages that are stable over so many steps of explicit Euler; an odd number, at least MIN_STAGES."""
    stages = max(MIN_STAGES, ceil((sqrt(9.0 + 16.0 * steps * (1.0 - 1e-12)) - 1.0) / 2.0))
    return stages + (stages % 2 == 0)


def has_stage_times(problem: Problem) -> bool:
    """Whether `rkl2_scheme` is taken, whose stages have times of their own."""
    return problem.varies or problem.melts


def max_stages(dtype: np.dtype, tolerance: float, timed: bool) -> int:
    """As many stages as leave the rounding of the estimated error below what the tolerance allows; `timed`: whether
    the stages are those of `rkl2_scheme`. That rounding grows like eps s^2, see `defect_rounding`."""
    least = tolerance / float(np.finfo(dtype).eps)
    within = int(sqrt(0.7 * least if timed else 2.0 * least))
    return max(MIN_STAGES, min(MAX_STAGES, within - (within % 2 == 0)))


def defect_rounding(dtype: np.dtype, size: float, rate: float, limit: float) -> float:
    """What rounding makes of the defect from the trapezoidal rule at most: the first stages of this step and of the
    next differ from the fields that they start from by `rate` dt L, each rounded to half an eps of `size`; and L of the
    rounding of these fields, which is rough, is up to 2 `limit` times as large."""
    return float(np.finfo(dtype).eps) * size * (1.0 / rate + limit)


def longest_step(problem: Problem, tolerance: float) -> float:
    """The longest step that the scenario allows and the most stages are stable over, s."""
    stages = max_stages(problem.dtype, tolerance, has_stage_times(problem))
    if problem.melts:
        few = int(STAGES_OF_MELTING * (tolerance / 1e-2) ** (1 / 3))
        stages = min(stages, max(MIN_STAGES_OF_MELTING, few - 1 + few % 2))
    return min(problem.largest_step, rkl2_scheme(stages).limit * problem.stability_limit)


@lru_cache(maxsize=64)
def _stages(stages: int, timed: bool, dtype: np.dtype) -> tuple[RkStage, ...]:
    return (rkl2_scheme if timed else two_term_scheme)(stages).rounded(dtype)


@dataclass(frozen=True)
class StagesTrialStep(TrialStep):
    """from_ambients: of the heat released, what came from each ambient that depends on time, J, if any does."""

    from_ambients: np.ndarray | None


class Rkl2:
    """Super steps of a state whose stepper takes stages."""

    def __init__(self, state: State, tolerance: float) -> None:
        """`tolerance`: what `longest` steps must leave of the precision."""
        problem = state.problem
        self._state, self._stepper = state, state.stages
        self._timed = has_stage_times(problem)
        self._varies = problem.varies
        self._forcing: Forcing | None = None
        self._checked = state.solver_statistics.stages  # stages that had been taken at the last look
        self.longest = longest_step(problem, tolerance)  # s

    def trial_step(self, dt: float, accuracy: float | None = None) -> StagesTrialStep:
        """Compute a step of `dt` s and estimate its error; the state stays. `accuracy` is for those who solve.

        The estimate is what a third order method would add, by the defect from the trapezoidal rule as in RKC
        (Sommeijer, Shampine and Verwer, J. Comput. Appl. Math. 88, 1998), for which the end of the step is swept once;
        less what rounding may have added to it, which no shorter step would take away.
        """
        released, from_ambients = self._take_stages(dt)
        scheme = self._scheme(dt)
        end = self._state.time + dt
        rate = float(self._state.problem.dtype.type(scheme.mu_tilde[0]))
        found = self._stepper.defect(dt, rate, self._inputs(np.array([end]), self._stepper.cells_at_end))
        self._state.solver_statistics.stages += 1
        noise = defect_rounding(self._state.problem.dtype, max(abs(found.low), abs(found.high)), rate, scheme.limit)
        error = scheme.share_of_defect * max(found.largest - noise, 0.0 * found.largest)
        return StagesTrialStep(error, found.low, found.high, released, from_ambients)

    def accept_step(self, trial_step: StagesTrialStep, time: float) -> None:
        """Make the step computed the state of `time` s."""
        self._accept(time, trial_step.released, trial_step.from_ambients)

    def advance(self, dt: float, time: float) -> None:
        """Take a step of `dt` s to `time` s, without an estimate; waits for nothing but a look, now and then, whether
        all is finite."""
        self._accept(time, *self._take_stages(dt))
        state = self._state
        if state.solver_statistics.stages - self._checked >= CHECK_EVERY[state.field.device]:
            require_finite(state.field.was_finite(), state)
            self._checked = state.solver_statistics.stages

    def state(self) -> SavedState:
        """Nothing: a step depends on the field alone."""
        return {}

    def restore(self, saved: SavedState) -> None:
        """Nothing was saved."""

    def _accept(self, time: float, released: float, from_ambients: np.ndarray | None) -> None:
        state = self._state
        self._stepper.accept()
        state.field.sample(time - state.time)
        state.add_released(released, from_ambients)
        state.time, state.step = time, state.step + 1

    def _count(self, dt: float) -> int:
        return stages_for(dt / self._state.problem.stability_limit)

    def _scheme(self, dt: float) -> Rkl2Scheme:
        return (rkl2_scheme if self._timed else two_term_scheme)(self._count(dt))

    def _take_stages(self, dt: float) -> tuple[float, np.ndarray | None]:
        """All stages of a step; the heat released in it, J, and of that what came from ambients."""
        state, problem, released = self._state, self._state.problem, 0.0
        from_ambients: np.ndarray | None = None
        scheme = self._scheme(dt)
        stages = _stages(scheme.stages, self._timed, problem.dtype)
        at_once = problem.batch if self._varies else scheme.stages
        lacking = MeanInputs(problem, state.time, dt, scheme.lacking) if self._varies else None
        if at_once == 1:
            problem.look_ahead(state.time + dt * np.array(scheme.c))
        for first in range(0, scheme.stages, at_once):
            some = stages[first : first + at_once]
            times = state.time + dt * np.array(scheme.c[first : first + len(some)])
            forcing = self._inputs(times, state.field.stored_cells, lacking)
            self._stepper.take_stages(dt, some, first, forcing)
            shares = np.array([stage.weight for stage in some])
            released += float(problem.source_energy(forcing, dt, len(some)) @ shares)
            heat = problem.ambient_heat(times, dt)
            if heat is not None:
                from_ambients = shares @ heat + (0.0 if from_ambients is None else from_ambients)
        if from_ambients is not None and lacking is not None:
            from_ambients = from_ambients + lacking.ambient_heat(dt)
        state.solver_statistics.stages += scheme.stages
        return released, from_ambients

    def _inputs(self, times: np.ndarray, cells: Callable[[Any], Any], lacking: MeanInputs | None = None) -> Forcing:
        """Boundary faces and sources at some times, s, with what their means lack; those that do not change are made
        once. cells: see `SurfaceTangents`, which are made if faces depend on temperature; those of the start serve a
        whole step."""
        problem = self._state.problem
        if problem.explicit_form is not None:
            times = times if self._varies else times[:1]
            forcing, surfaces = problem.surface_forcing(times)
            if lacking is not None:
                forcing, surfaces = lacking.added(forcing), lacking.added_to_surfaces(surfaces)
            return self._state.tangents.applied(forcing, cells, surfaces)
        if self._varies:
            forcing = problem.linear_forcing(times)
            return forcing if lacking is None else lacking.added(forcing)
        if self._forcing is None:
            self._forcing = problem.linear_forcing(times[:1])
        return self._forcing


def _start(state: State) -> StepControl:
    problem = state.problem
    control = problem.scenario.time
    tolerance = control.tolerance or DEFAULT_TOLERANCE
    super_steps = Rkl2(state, tolerance)
    if control.has_equal_steps:
        return EqualSteps(state, super_steps.longest, super_steps.advance, super_steps)
    longest = super_steps.longest
    if not problem.melts:
        return ErrorControl(state, super_steps, tolerance, ERROR_ORDER, longest)
    accepted = typical_step(problem, _share_of_age(problem, tolerance), problem.events().restarts)
    return ErrorControl(state, super_steps, tolerance, ERROR_ORDER, longest, accepted)


def _share_of_age(problem: Problem, tolerance: float) -> float:
    """What a typical step is of the time since the start or a jump."""
    share = step_share(tolerance, ERROR_ORDER, ERROR_CONSTANT)
    return min(share, AGE_SHARE_OF_MELTING * tolerance) if problem.melts else share


def _warm_up(state: State) -> None:
    problem = state.problem
    step = min(WARM_UP * problem.stability_limit, problem.scenario.time.end)
    Rkl2(state, DEFAULT_TOLERANCE).trial_step(step)
    state.solver_statistics.stages = 0


def _estimate(inputs: EstimateInputs) -> IntegratorEstimate:
    tolerance = inputs.tolerance
    problem = inputs.problem.with_integrator(RKL2.name, tolerance)
    limit, timed = problem.stability_limit, has_stage_times(problem)
    share = _share_of_age(problem, tolerance)
    longest = longest_step(problem, tolerance)
    steps, sweeps = foresee_steps(problem, share, ERROR_ORDER, longest, lambda dt: 1 + stages_for(dt / limit))
    stage = max(inputs.cost.sweep * SWEEPS_A_STAGE[inputs.device][timed], HOST_SECONDS_A_STAGE)
    of_host = inputs.cost.inputs + inputs.cost.tangents
    seconds = sweeps * (stage + of_host) + steps * HOST_SECONDS_A_STEP[problem.varies]
    updates = max(sweeps, problem.scenario.time.end / limit)
    lost = 0.0 if inputs.refused else rounding_loss(problem, ROUNDING_SHARE, updates, tolerance)
    refused = inputs.refused or rounding_refusal(problem, lost, tolerance)
    return IntegratorEstimate(RKL2.name, steps, sweeps, seconds, refused, lost)


def _largest_equal_step(problem: Problem) -> float:
    return longest_step(problem, DEFAULT_TOLERANCE)


def _report(info: Mapping[str, Any]) -> Rows:
    return [("stages", f"{info['stages']}, with those of steps rejected")]


RKL2 = Integrator(
    methods.RKL2,
    start=_start,
    warm_up=_warm_up,
    estimate=_estimate,
    report=_report,
    largest_step=_largest_equal_step,
)
