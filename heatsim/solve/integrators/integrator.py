"""What the rest of heatsim knows of an integrator: the functions that a run, a dry run and `auto` call.

Each integrator's file ends with its `Integrator`; `heatsim.solve.integrators.INTEGRATORS` names them all. Its facts are
a `Method`, which scenarios ask.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

from heatsim.base.methods import Method

if TYPE_CHECKING:
    from heatsim.problem import Problem
    from heatsim.solve.state import State

SavedState: TypeAlias = dict[str, Any]  # numbers, texts, None, arrays on the host, lists and dictionaries of these
Rows: TypeAlias = list[tuple[str, str]]  # of a table for people: name, value


class StepControl(Protocol):
    """Takes the steps of a run, and can be saved between any two of them."""

    def advance(self, target: float) -> Iterator[None]:
        """Bring the state to a time, s, exactly; yields now and then on the way, also at its end."""

    def look_after(self, steps: int) -> None:
        """Have `advance` yield after so many steps at most, until told otherwise."""

    def state(self) -> SavedState | None:
        """All that later steps depend on beside the state of the run; None where that cannot be saved now."""

    def restore(self, saved: SavedState) -> None:
        """Go on from what `state` gave. The state of the run has been restored before."""


class StepsBetweenEvents:
    """A `StepControl` of a function that goes from event to event, and remembers nothing from one to the next."""

    def __init__(self, advance: Callable[[float], Iterator[None]]) -> None:
        self._advance, self._under_way = advance, False

    def advance(self, target: float) -> Iterator[None]:
        """Bring the state to a time."""
        self._under_way = True
        yield from self._advance(target)
        self._under_way = False

    def look_after(self, steps: int) -> None:
        """It yields as it does."""

    def state(self) -> SavedState | None:
        """Nothing at an event, None on the way."""
        return None if self._under_way else {}

    def restore(self, saved: SavedState) -> None:
        """Nothing was saved."""


class StepCost(NamedTuple):
    """Seconds of explicit Euler: `step` in a batch of many, `sweep` alone; `inputs`: of the host beside them, for what
    depends on time in each step or stage; `tangents`: of the host, for tangents to the flux of boundary faces."""

    step: float
    sweep: float
    inputs: float = 0.0
    tangents: float = 0.0


@dataclass(frozen=True)
class IntegratorEstimate:
    """What an integrator would take: steps, sweeps of the stencil (0 where it solves) and seconds; refused: why it is
    not to be had, or not accurate enough; lost: share of the range of temperatures that rounding may cost."""

    integrator: str
    steps: int
    sweeps: int
    seconds: float
    refused: str = ""
    lost: float = 0.0


class EstimateInputs(NamedTuple):
    """What an estimate starts from: the problem, with the integrator left open; the tolerance that is to be kept; the
    device, "cpu" or "cuda"; what explicit steps cost there; and why the integrator cannot be had, or ""."""

    problem: Problem
    tolerance: float
    device: str
    cost: StepCost
    refused: str = ""


def _warm_nothing(state: State) -> None:
    """Compile nothing ahead."""


def _report_nothing(info: Mapping[str, Any]) -> Rows:
    return []


def _allowed_step(problem: Problem) -> float:
    return problem.largest_step


@dataclass(frozen=True)
class Integrator:
    """What computes by a method in time.

    method: its facts.
    start: gives the step control of a state.
    warm_up: compiles what is not compiled yet, and leaves the state as it is.
    estimate: what a run would take, for `auto`; None if `auto` is not to take it.
    measure: seconds of a step of so many seconds on a state that is thrown away, or of a whole steady state; None if
        `estimate` knows.
    report: rows of the closing summary, from what run.json holds.
    largest_step: the largest of equal steps that it takes in a problem, s.
    """

    method: Method
    start: Callable[[State], StepControl]
    warm_up: Callable[[State], None] = _warm_nothing
    estimate: Callable[[EstimateInputs], IntegratorEstimate] | None = None
    measure: Callable[[State, float], float] | None = None
    report: Callable[[Mapping[str, Any]], Rows] = _report_nothing
    largest_step: Callable[[Problem], float] = _allowed_step

    @property
    def name(self) -> str:
        """In scenario files."""
        return self.method.name


def solver_rows(info: Mapping[str, Any]) -> Rows:
    """The row of the closing summary for an integrator that solves."""
    residuals = info["residuals"]
    last = f", relative residual {residuals[-1]:.1e}" if residuals else ""
    return [("solver", f"{info['integrator']}, {info['iterations']} iterations{last}")]
