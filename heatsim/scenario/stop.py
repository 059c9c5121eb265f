"""When a run ends before `time.end`: a condition on temperatures of parts of the box, or a rate that has fallen."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from heatsim.scenario.language.base_model import ScenarioBlock, require_one_of
from heatsim.scenario.language.toml.messages import found, validation_error
from heatsim.scenario.language.value_types import Number, ValidationContext, ValueType, quantity
from heatsim.scenario.schedules import times_every

CHECKS_A_RUN = 200  # how often the condition is looked at, if that is not said
STATISTICS = ("min", "max", "mean")
COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_NUMBER = r"[+-]?(?:\d{1,40}(?:\.\d{0,40})?|\.\d{1,40})(?:[eE][+-]?\d{1,3})?"
_CLAUSE = re.compile(
    rf"\s*(min|max|mean)\s*\(\s*T\s*(?:,\s*(?:'([^']+)'|\"([^\"]+)\"))?\s*\)\s*(<=|>=|<|>)\s*({_NUMBER})\s*"
)


class ConditionError(ValueError):
    """A text is no condition; the part that is none."""


@dataclass(frozen=True)
class Clause:
    """A comparison of a statistic of a part, None being all that is solved, with a temperature."""

    statistic: str
    part: str | None
    comparison: str
    limit: float

    def holds(self, value: float) -> bool:
        """Whether a value of the statistic meets the condition."""
        return COMPARISONS[self.comparison](value, self.limit)


def parse_condition(text: str) -> tuple[tuple[Clause, ...], ...]:
    """A condition as alternatives, of each of which all clauses have to hold.

    Raises:
        ConditionError: it is none.
    """
    return tuple(tuple(_clause(part) for part in re.split(r"\band\b", choice)) for choice in re.split(r"\bor\b", text))


def _clause(text: str) -> Clause:
    match = _CLAUSE.fullmatch(text)
    if match is None:
        raise ConditionError(text.strip())
    statistic, single, double, comparison, limit = match.groups()
    return Clause(statistic, single or double, comparison, float(limit))


def _check(value: Any, context: ValidationContext) -> str:
    try:
        if isinstance(value, str):
            parse_condition(value)
            return value
        wrong = found(value)
    except ConditionError as error:
        wrong = found(str(error))
    message = f"expected a condition on min, max or mean of T (K or degC), found {wrong}"
    raise validation_error(message, "such as \"max(T, 'casting') < 555 and min(T) > 300\"")


CONDITION = ValueType(_check, {"type": "string"})


class Stop(ScenarioBlock):
    """What ends a run before `time.end`.

    A condition compares `min(T)`, `max(T)` or `mean(T)`, or those of a part, `max(T, 'die')`, with temperatures, joined
    by `and` and `or`. A part is a material, or a region of `[[output.regions]]`. The condition is looked at in every
    step, and the run ends where it is first met: the step in which that is is taken again, in shorter ones. A run that
    never gets there goes on to `time.end`, and says so.
    """

    when: Annotated[str | None, CONDITION] = Field(None, description="The condition, in the file's unit of temperature")
    steady_rate: Annotated[float | None, quantity(Number("K/s", above=0))] = Field(
        None, description="Or: the run ends when no cell changes faster than this [K/s]"
    )
    every: Annotated[float | None, quantity(Number("s", above=0))] = Field(
        None,
        description="Interval between times at which steps end to look; of steady_rate, that over which the change is "
        "taken; a 200th of the run, if left out [s]",
    )

    @model_validator(mode="after")
    def _has_one_criterion(self) -> Self:
        require_one_of(self, when="", steady_rate="K/s")
        return self

    @property
    def alternatives(self) -> tuple[tuple[Clause, ...], ...]:
        """The condition: see `parse_condition`; empty where a rate is given."""
        return parse_condition(self.when) if self.when is not None else ()

    @property
    def parts(self) -> tuple[str | None, ...]:
        """The parts that the condition is about, each once."""
        return tuple(dict.fromkeys(clause.part for clauses in self.alternatives for clause in clauses))

    def interval(self, end: float) -> float:
        """The interval between times at which steps end to look, s."""
        return self.every or end / CHECKS_A_RUN

    def times(self, end: float) -> tuple[float, ...]:
        """The times at which steps end to look in a run from 0 to `end`, s."""
        return times_every(self.interval(end), end)
