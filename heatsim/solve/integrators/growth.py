"""How fast a field grows by sources that depend on it, and what steps that allows.

Where a source rises with temperature, an error grows as the field does: by exp(integral of g dt), with g, 1/s, the
fastest rate at which a small change of the field grows, by sources less what conduction and faces take away. Errors of
steps that were small beside the field at their time are as small beside the field that has grown of it, so they add up:
in steps of dt, each off by c (g dt)^p of a change that grows, they come to c (g dt)^(p - 1) G of it after G = integral
of g dt e-foldings. A front that runs into a state from which the field grows is late by as much, at each of its places.

g is the largest eigenvalue of the linearised problem. It is found by inverse iteration (Golub and Van Loan, Matrix
Computations, section 7.6), shifted to the fastest rate of the sources alone, which it never exceeds; each system is
solved by conjugate gradients. Conductivities are those at the reference temperature.
"""

from __future__ import annotations

from contextlib import suppress
from math import exp, inf, log
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from heatsim.errors import RunawayError
from heatsim.solve.integrators.step_control import NO_LIMIT, StepLimit

if TYPE_CHECKING:
    from heatsim.problem import Problem

SHARE = 0.5  # of the tolerance, for what growth makes of errors
EXPLICIT_SHARE = 0.75  # the same of explicit Euler, whose other errors are small
LEAST_FOLDINGS = 10.0  # for which errors have room from the start on, as the number to come is not known
NO_GROWTH = 0.02  # e-foldings in a run that are none
ITERATIONS, ACCURACY = 12, 0.02  # inverse iterations, of the shift
SOLVER_ITERATIONS, SOLVER_RESIDUAL = 200, 0.02
FEW_CELLS = 200_000  # of more than these the iterations are fewer: their time must not show
IGNITION_SHARE = 0.05  # of the errors that grow like this, as those of all steps add up
LEAST_SHARE = 1e-4  # of the errors of steps that is left to them before an ignition
MAX_FOLDINGS = 25.0  # by which iterations can be more accurate: their errors are rounding then
CHANGED, AGED = 0.1, 0.1  # by which the sources' own rate changes, and of the run, until the growth is found anew
LEVELS = 5  # temperatures at which growth is looked at before a run


class _Rates:
    """The linearised exchange of a problem: (nz, ny, nx) heat capacities, J/K, rates to the six neighbours, 1/s, and
    what ties cells to the outside, 1/s."""

    def __init__(self, problem: Problem) -> None:
        coefficients = problem.coefficients
        self.capacity = np.broadcast_to(
            coefficients.spread_over_cells(coefficients.capacity), coefficients.shape
        ).astype(float)
        self.solved = self.capacity > 0.0
        ties = np.zeros(coefficients.shape)
        values = problem.boundary_values(np.zeros(1))[0][0]
        self._neighbours: list[tuple[int, int, bool, np.ndarray]] = []
        for face in range(6):
            axis, upper, wraps = 2 - face // 2, face % 2, coefficients.periodic[face // 2]
            rates = np.broadcast_to(coefficients.spread_over_cells(coefficients.rates[:, face]), coefficients.shape)
            rates = np.where(self.solved, rates, 0.0)
            if not wraps:
                at_end = [slice(None)] * 3
                at_end[axis] = slice(-1, None) if upper else slice(0, 1)
                beside = rates[tuple(at_end)]
                ties[tuple(at_end)] -= beside * self._outside(coefficients, values, face, beside.shape, at_end)
                rates = rates.copy()
                rates[tuple(at_end)] = 0.0
            self._neighbours.append((axis, -1 if upper else 1, wraps, rates))
        if coefficients.losses is not None:
            ties += coefficients.spread_over_cells(coefficients.losses)
        self.ties = np.where(self.solved, ties, 0.0)
        self.diagonal = self.ties + sum(rates for _, _, _, rates in self._neighbours)

    @staticmethod
    def _outside(coefficients: Any, values: np.ndarray, face: int, shape: tuple[int, ...], at_end: Any) -> Any:
        """What a face lets a cell beside it feel of itself: the a of its affine map."""
        if coefficients.closed[face]:
            return 0.0
        of_face = values[coefficients.boundary_values_of(face)]
        if coefficients.boundary_per_cell:
            return of_face.reshape(shape)
        return np.broadcast_to(coefficients.spread_over_cells(of_face), coefficients.shape)[tuple(at_end)]

    def exchange(self, v: np.ndarray) -> np.ndarray:
        """The rate at which cells lose a change v by exchange, in its unit a second."""
        found: np.ndarray = self.diagonal * v
        for axis, shift, _, rates in self._neighbours:
            found -= rates * np.roll(v, shift, axis)  # the rates of ends that do not wrap are 0
        return found

    def dot(self, a: np.ndarray, b: np.ndarray) -> float:
        """Their product, weighted with the heat capacities, in which the exchange is symmetric."""
        return float((self.capacity * a * b).sum())


class NetGrowth:
    """Finds the fastest growth of a problem."""

    def __init__(self, problem: Problem) -> None:
        self._problem, self._rates = problem, _Rates(problem)
        self._change: np.ndarray | None = None  # that grew fastest when it was last looked for

    def of_sources(self, T: np.ndarray, time: float) -> np.ndarray:
        """(nz, ny, nx) how fast a change of temperature alone would grow by the sources, 1/s; T in the scenario's
        unit."""
        following, rates = self._problem.temperature_sources, self._rates
        assert following is not None
        slope = following.slope(T, time)
        return np.asarray(np.divide(slope, rates.capacity, out=np.zeros_like(slope), where=rates.solved))

    def rate(self, own: np.ndarray) -> float:
        """The growth, 1/s, with those of the sources alone; 0 where nothing grows."""
        rates, shift = self._rates, 1.02 * float(own.max())
        if shift <= 0.0:
            return 0.0
        diagonal = np.where(rates.solved, shift + rates.diagonal - own, 1.0)
        few = 1.0 if own.size <= FEW_CELLS else FEW_CELLS / own.size
        v, found = np.where(rates.solved, np.maximum(own, 0.0) + 0.01 * shift, 0.0), -inf
        if self._change is not None:
            v = v / np.sqrt(rates.dot(v, v)) + self._change
        for _ in range(ITERATIONS):
            v = v / np.sqrt(rates.dot(v, v))
            v = self._solve(v, own, shift, diagonal, max(20, int(few * SOLVER_ITERATIONS)))
            size = rates.dot(v, v)
            before, found = found, rates.dot(v, own * v - rates.exchange(v)) / size
            if found - before <= ACCURACY * shift:
                break
        self._change = v / np.sqrt(rates.dot(v, v))
        return max(found, 0.0)

    def _solve(self, b: np.ndarray, own: np.ndarray, shift: float, diagonal: np.ndarray, iterations: int) -> np.ndarray:
        """Solve (shift - own + exchange) x = b by conjugate gradients."""
        rates = self._rates
        x = b / shift
        residual = np.where(rates.solved, b - ((shift - own) * x + rates.exchange(x)), 0.0)
        limit = SOLVER_RESIDUAL**2 * rates.dot(b, b)
        z = residual / diagonal
        direction, product = z.copy(), rates.dot(residual, z)
        for _ in range(iterations):
            if rates.dot(residual, residual) <= limit or product <= 0.0:
                break
            applied = np.where(rates.solved, (shift - own) * direction + rates.exchange(direction), 0.0)
            way = product / rates.dot(direction, applied)
            x, residual = x + way * direction, residual - way * applied
            z = residual / diagonal
            product, before = rates.dot(residual, z), product
            direction = z + product / before * direction
        return x


class Growth(NamedTuple):
    """What is known of growth before a run: the fastest rate, 1/s, and the e-foldings that it may come to; `start`: the
    rate of the initial field."""

    rate: float
    foldings: float
    start: float = 0.0


def foreseen_growth(problem: Problem) -> Growth:
    """The growth at the initial field, and at even fields of temperatures that are given or that a stop speaks of."""
    following = problem.temperature_sources
    if following is None or not following.may_grow:
        return Growth(0.0, 0.0)
    if following.growth is None:
        following.growth = _foreseen_growth(problem)
    rate, foldings, start = following.growth
    return Growth(rate, foldings, start)


def _foreseen_growth(problem: Problem) -> Growth:
    following, end = problem.temperature_sources, problem.scenario.time.end
    assert following is not None
    initial = np.stack(list(problem.initial_planes())).astype(np.float64) + problem.reference
    finder = NetGrowth(problem)
    powers: list[float] = []

    def rate_at(field: np.ndarray) -> float:
        own = finder.of_sources(field, 0.0)
        own = np.where(np.isfinite(own), own, 0.0)
        powers.append(float(np.abs(following.power(field, 0.0)).max()))
        return finder.rate(own) if own.max() * end > NO_GROWTH else 0.0

    low, high = problem.known_temperatures
    start = rate_at(initial)
    powers.clear()
    with np.errstate(all="ignore"):
        rate = max(start, *(rate_at(np.full(initial.shape, T)) for T in np.linspace(low, high, LEVELS)))
        hottest = problem.hottest
        if rate * end > NO_GROWTH and hottest > high:  # then it may go on growing where it is hotter than known
            with suppress(RunawayError):
                rate = max(rate, *(rate_at(np.full(initial.shape, T)) for T in np.linspace(high, hottest, LEVELS)[1:]))
    foldings = rate * end
    if min(powers) > 0.0:  # what heats itself passes from its least power to its greatest
        foldings = min(foldings, max(1.0, log(max(powers) / min(powers))))
    return Growth(rate, foldings, start)


def longest_explicit_step(problem: Problem, tolerance: float) -> float:
    """The longest step of explicit Euler with which what grows is within the tolerance, s.

    Its error in a step of what grows is (g dt)^2/2.
    """
    rate, foldings, _ = foreseen_growth(problem)
    if foldings <= NO_GROWTH:
        return inf
    return 2.0 * EXPLICIT_SHARE * tolerance / (rate * max(1.0, foldings))


def seeds_refusal(problem: Problem, tolerance: float) -> str:
    """Why what solvers leave would grow beyond a tolerance where all was at rest, or ""."""
    growth = foreseen_growth(problem)
    foldings = growth.start * problem.scenario.time.end
    if foldings <= MAX_FOLDINGS or not at_rest(problem).any():
        return ""
    return f"would have what its solver leaves grow by exp({foldings:.3g})"


def at_rest(problem: Problem) -> np.ndarray:
    """(nz, ny, nx) the cells that are so near to where sources rest, and from where they drive the field on, that the
    precision of the run does not tell."""
    following = problem.temperature_sources
    assert following is not None
    offset = np.stack(list(problem.initial_planes())).astype(np.float64)
    T = offset + problem.reference
    power, slope = following.power(T, 0.0), following.slope(T, 0.0)
    told = np.maximum(float(np.ptp(T)) or 1.0, np.abs(offset)) * float(np.finfo(problem.dtype).eps)
    return np.asarray((slope > 0.0) & (np.abs(power) < told * slope))


def growth_share(tolerance: float, order: int, error_constant: float, foldings: float) -> float:
    """The longest step, as a share of 1/g, of a method whose error in a step is error_constant (g dt)^order, when there
    are so many e-foldings."""
    room = SHARE * tolerance / (error_constant * max(LEAST_FOLDINGS, foldings))
    return float(room ** (1.0 / (order - 1)))


class Ignition:
    """How errors before an ignition grow: as the power of the sources does, for a body that heats itself passes its
    temperatures at the rate at which they heat it."""

    def __init__(self, problem: Problem, known: float, hottest: float) -> None:
        following = problem.temperature_sources
        assert following is not None
        self._following, self._shape = following, problem.grid.shape
        self._least, self._most = self._power(known, 0.0), self._power(hottest, 0.0)
        self._hottest, self._low = hottest, problem.known_temperatures[0]

    @classmethod
    def of(cls, problem: Problem) -> Ignition | None:
        """That of a problem; None where it does not grow by what it is as a whole, but from states at rest."""
        growth, following = foreseen_growth(problem), problem.temperature_sources
        if following is None or growth.foldings <= NO_GROWTH:
            return None
        known, hottest = problem.given_temperatures[1], problem.hottest
        powers = [float(np.abs(following.power(np.full(problem.grid.shape, T), 0.0)).max()) for T in (known, hottest)]
        if not (hottest > known and 0.0 < powers[0] < powers[1] < inf):
            return None
        return cls(problem, known, hottest)

    def _power(self, temperature: float, time: float) -> float:
        return float(np.abs(self._following.power(np.full(self._shape, temperature), time)).max())

    def share(self, T: np.ndarray, time: float) -> float:
        """A factor on the errors of steps from a field at a time, s, for what they become when it is hottest."""
        now = max(self._least, float(np.abs(self._following.power(T, time)).max()))
        extent = max(float(T.max()) - self._low, 1e-300)
        grown = min(1.0, now / self._most) * (self._hottest - self._low) / extent
        return float(min(1.0, max(IGNITION_SHARE * grown, LEAST_SHARE)))


class GrowthLimit:
    """The longest steps of a run under error control, by the growth of its field as it is."""

    def __init__(self, problem: Problem, tolerance: float, order: int, error_constant: float) -> None:
        self._end, self._tolerance = problem.scenario.time.end, tolerance
        self._order, self._constant = order, error_constant
        following = problem.temperature_sources
        self._finder = NetGrowth(problem) if following is not None and following.may_grow else None
        self._ignition = None if self._finder is None else Ignition.of(problem)
        self._rate, self._own, self._found_at = 0.0, 0.0, -inf
        self._time, self._foldings = 0.0, 0.0

    @property
    def grows(self) -> bool:
        """Whether anything can grow."""
        return self._finder is not None

    @property
    def share_of_iterations(self) -> float:
        """A factor on the accuracy of iterations, for what they leave grows until the end of the run."""
        return exp(-min(self._rate * max(0.0, self._end - self._time), MAX_FOLDINGS))

    def now(self, T: np.ndarray, time: float) -> StepLimit:
        """What is allowed from a field (nz, ny, nx) at a time, s."""
        if self._finder is None:
            return NO_LIMIT
        self._foldings += self._rate * max(0.0, time - self._time)
        self._time = time
        own = self._finder.of_sources(T, time)
        fastest = float(own.max())
        if fastest * self._end <= NO_GROWTH:
            self._rate, self._own = 0.0, fastest
        elif abs(fastest - self._own) > CHANGED * abs(self._own) or time > self._found_at + AGED * self._end:
            self._rate, self._own, self._found_at = self._finder.rate(own), fastest, time
        share = 1.0 if self._ignition is None else self._ignition.share(T, time)
        if self._rate * self._end <= NO_GROWTH:
            return StepLimit(inf, share)
        # Twice those so far: what is to come may be as many.
        longest = growth_share(self._tolerance, self._order, self._constant, 2.0 * self._foldings) / self._rate
        return StepLimit(longest, share)

    def state(self) -> list[float]:
        """What later limits depend on."""
        return [self._rate, self._own, self._found_at, self._time, self._foldings]

    def restore(self, saved: list[float]) -> None:
        """Go on from what `state` gave."""
        self._rate, self._own, self._found_at, self._time, self._foldings = saved
