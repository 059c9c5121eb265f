"""What can go wrong in a way that a user can mend, each with the exit code that the command line gives it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any


class HeatsimWarning(UserWarning):
    """The category of all that `heatsim.run`, `resume` and `evaluate` warn of, by `warnings`."""


class HeatsimError(Exception):
    """Base of all errors that are reported in one message, without a traceback. They may be pickled."""

    exit_code = 1

    @property
    def issues(self) -> tuple[Issue, ...]:
        """What is wrong, one by one: of a `ScenarioError` all that was found, of another error that one."""
        return (Issue(str(self)),)

    def reword(self, words: Callable[[str], str]) -> None:
        """Say it in other words, text by text."""
        self.args = tuple(words(each) if isinstance(each, str) else each for each in self.args)

    def __reduce__(self) -> tuple[Any, ...]:
        """As it is, whatever its class is made of: `Exception` would make it of its message."""
        return _made_again, (type(self), self.args, self.__dict__)


def _made_again(kind: type[HeatsimError], args: tuple[Any, ...], state: dict[str, Any]) -> HeatsimError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(state)
    return error


@dataclass(frozen=True)
class Issue:
    """One thing wrong with a scenario: where (file, line and column from 1, key) and what was expected and found.

    For a value that came on top of the file, `file` says so: "--set time.end", in Python "override time.end".
    """

    message: str
    key: str = ""
    file: str = ""
    line: int = 0
    column: int = 0
    hint: str = ""

    def __str__(self) -> str:
        place = self.file
        if self.line:
            place += f":{self.line}:{self.column}"
        key = "" if self.file in (f"--set {self.key}", f"override {self.key}") else self.key
        parts = [part for part in (place, key, self.message) if part]
        return ": ".join(parts) + (f" ({self.hint})" if self.hint else "")


class ScenarioError(HeatsimError):
    """The scenario is not valid; `issues` has every flaw that was found."""

    exit_code = 2

    def __init__(self, issues: Sequence[Issue]) -> None:
        super().__init__("\n".join(map(str, issues)))
        self._issues = tuple(issues)

    @property
    def issues(self) -> tuple[Issue, ...]:
        """All that is wrong, in the order of the file."""
        return self._issues

    def reword(self, words: Callable[[str], str]) -> None:
        """Say it in other words, issue by issue."""
        self._issues = tuple(
            replace(each, message=words(each.message), file=words(each.file), hint=words(each.hint))
            for each in self._issues
        )
        self.args = ("\n".join(map(str, self._issues)),)


class InputFileError(HeatsimError):
    """A data file cannot be used: missing, malformed, of the wrong shape, or not safe to open."""

    exit_code = 2

    def __init__(self, path: Path, message: str) -> None:
        super().__init__(f"{path}: {message}")
        self.path = path
        self.message = message

    @property
    def issues(self) -> tuple[Issue, ...]:
        """That one, with its file."""
        return (Issue(str(self).removeprefix(f"{self.path}: "), file=str(self.path)),)


class RunFolderError(HeatsimError):
    """A run folder exists already, or is not one."""

    exit_code = 2


class RequestError(HeatsimError):
    """A command was asked for something that does not exist or makes no sense."""

    exit_code = 2


class NothingLeftError(RequestError):
    """A run that is to go on has reached its end."""


class NotFiniteError(HeatsimError):
    """The temperature is no longer a finite number."""

    exit_code = 3

    @classmethod
    def at(cls, step: int, time: float, place: tuple[float, float, float] | None = None) -> NotFiniteError:
        """After so many steps, at a time in s; place: x, y, z of the first cell that is none, m."""
        where = "" if place is None else ", x, y, z = {:.4g}, {:.4g}, {:.4g} m".format(*place)
        return cls(
            f"the temperature is no longer finite at step {step}, t = {time:g} s{where}; earlier results are kept. "
            "A source or boundary value may grow without bound"
        )


class RunawayError(NotFiniteError):
    """A source that depends on temperature heats itself beyond all bounds."""

    @classmethod
    def of(cls, hottest: float, unit: str, place: tuple[float, float, float], time: float, why: str) -> RunawayError:
        """At a time in s; hottest: the temperature at x, y, z in m, in the scenario's unit; why: in words."""
        where = "x, y, z = {:.4g}, {:.4g}, {:.4g} m".format(*place)
        return cls(
            f"a source that depends on temperature runs away at t = {time:g} s: {hottest:.6g} {unit} at {where}, where "
            f"{why}; earlier results are kept. If it should not, take shorter steps: time.step or time.tolerance"
        )


class NoSteadyStateError(HeatsimError):
    """Heat balances at no state, or at none that can be."""

    exit_code = 3

    def __init__(self, why: str) -> None:
        super().__init__(f"there is no steady state that can be found: {why}")


class EnergyLostError(HeatsimError):
    """The energy balance of a run does not close by far."""

    exit_code = 3

    def __init__(self, residual: float, moved: float, unit: str, why: str) -> None:
        """residual: what appeared from nowhere, of all that moved, both in the unit; why: in words, or ""."""
        super().__init__(
            f"the energy balance does not close: {residual:.4g} {unit} of {moved:.4g} {unit} moved "
            f"{'came from nowhere' if residual > 0 else 'were lost'}"
            + (f", {why}" if why else "; what was written is no solution")
        )


class NotConvergedError(HeatsimError):
    """A linear solver did not reach its tolerance; holds the relative residual before each iteration and at the end."""

    def __init__(self, what: str, residuals: Sequence[float]) -> None:
        super().__init__(
            f"{what} did not converge: the relative residual went from {residuals[0]:.2e} to {residuals[-1]:.2e}; "
            "earlier results are kept. A larger time.tolerance may help, unless there is no solution: where a "
            "conductivity falls to nothing on the way, for example"
        )
        self.residuals = tuple(residuals)


class NotSettledError(HeatsimError):
    """No periodic state was found; changes: by how much each period missed its start, K."""

    def __init__(self, period: float, changes: Sequence[float]) -> None:
        super().__init__(
            f"no state repeats with the period of {period:g} s: after {len(changes)} periods the last missed its start "
            f"by {changes[-1]:.3g} K, the first by {changes[0]:.3g} K. Do all inputs repeat with it, and can all heat "
            "leave?"
        )


class NoGpuError(HeatsimError):
    """A GPU was demanded and there is none that works."""

    exit_code = 4
