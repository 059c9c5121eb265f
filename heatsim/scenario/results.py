"""`[[output.results]]`: the numbers for which a run is made, each with a name."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from heatsim.scenario.language.base_model import ScenarioBlock
from heatsim.scenario.language.toml.messages import found, validation_error
from heatsim.scenario.language.value_types import NAME, Number, ValidationContext, ValueType, quantity
from heatsim.scenario.schedules import times_every

SAMPLES = 200  # rows of results.csv of a result over time, if its `every` is left out
STATISTICS = "min", "max", "mean", "max_smooth"  # of the temperatures of a part
SIZES = {"volume": "m3", "mass": "kg"}  # of a part, with their units
_QUOTED = r"(?:'([^']+)'|\"([^\"]+)\")"
_STATISTIC = re.compile(rf"\s*(min|max|mean)\s*\(\s*T\s*(?:,\s*{_QUOTED}\s*)?\)\s*")
_SMOOTH = re.compile(rf"\s*max_smooth\s*\(\s*T\s*(?:,\s*{_QUOTED}\s*)?(?:,\s*([0-9.]+(?:[eE][-+]?[0-9]+)?)\s*)?\)\s*")
_SIZE = re.compile(rf"\s*(volume|mass)\s*\(\s*{_QUOTED}?\s*\)\s*")
_NAMED = re.compile(rf"\s*(probe|heat)\s*\(\s*{_QUOTED}\s*\)\s*")


@dataclass(frozen=True)
class ResultSubject:
    """What a result is: `kind` is min, max or mean of the temperatures of a part, None being all that is solved, or its
    volume or mass; or the probe, or the heat through the face or from the ambient, of that name. max_smooth is a smooth
    maximum of `width`."""

    kind: str
    name: str | None
    width: float = 1.0

    @property
    def is_statistic(self) -> bool:
        """Whether the result is a statistic of the temperatures of a part."""
        return self.kind in STATISTICS

    @property
    def is_of_part(self) -> bool:
        """Whether `name` names a part."""
        return self.is_statistic or self.kind in SIZES

    def unit(self, temperature: str, heat: str) -> str:
        """The unit of the result, given the units of temperatures and of heat."""
        return heat if self.kind == "heat" else SIZES.get(self.kind, temperature)


def parse_subject(text: str) -> ResultSubject | None:
    """The subject that a text such as max(T) names; None for any other text."""
    if match := _STATISTIC.fullmatch(text):
        return ResultSubject(match[1], match[2] or match[3])
    if (match := _SMOOTH.fullmatch(text)) and float(match[3] or 1.0) > 0:
        return ResultSubject("max_smooth", match[1] or match[2], float(match[3] or 1.0))
    if match := _SIZE.fullmatch(text):
        return ResultSubject(match[1], match[2] or match[3])
    if match := _NAMED.fullmatch(text):
        return ResultSubject(match[1], match[2] or match[3])
    return None


def _check(value: Any, context: ValidationContext) -> str:
    if isinstance(value, str) and parse_subject(value) is not None:
        return value
    known = "max(T), min(T), mean(T), max_smooth(T), probe('name'), heat('face'), volume() or mass()"
    hint = "of a part: \"max(T, 'die')\", \"mass('die')\""
    raise validation_error(f"expected {known}, found {found(value)}", hint)


OF = ValueType(_check, {"type": "string"})


class Result(ScenarioBlock):
    """A number that a run is made for: in `results.csv`, `run.json`, the summary and the table of a sweep."""

    name: Annotated[str, NAME] = Field(description="Name of the result")
    of: Annotated[str, OF] = Field(
        description="max(T), min(T) or mean(T) of all that is solved, or of a material or region of output.regions, as "
        "max(T, 'die'); max_smooth(T, 'die', 0.5), which has no kinks and is a few times 0.5 K below max(T), or 1 K; "
        "probe('name') of output.probes; heat('z_min'), which has entered through a face or from an "
        "ambient since t = 0, J; of a steady state, W; volume() and mass() of the cells that are solved, or of "
        "a part, as mass('fin'), m3 and kg"
    )
    at: Annotated[float | None, quantity(Number("s", least=0))] = Field(
        None, description="Time of the value [s]; the end of the run, if left out"
    )
    over: Literal["time"] | None = Field(
        None,
        description="Or over the run, in every step: the greatest of max(T) and of a probe, the least of min(T), the "
        "mean of mean(T)",
    )
    every: Annotated[float | None, quantity(Number("s", above=0))] = Field(
        None,
        description="Of a result over time: the interval between rows of results.csv; a 200th of the run, if left "
        "out [s]",
    )

    @model_validator(mode="after")
    def _has_one_time(self) -> Self:
        if self.over is not None and self.at is not None:
            raise validation_error("expected one of at and over, found both")
        if self.over is None and self.every is not None:
            raise validation_error('expected every with over = "time" alone')
        if self.over is not None and self.subject.kind == "heat":
            raise validation_error("expected no over with heat, which counts from t = 0", "leave over out")
        if self.over is not None and self.subject.kind in SIZES:
            raise validation_error(f"expected no over with {self.subject.kind}, which stays the same", "leave over out")
        return self

    @property
    def subject(self) -> ResultSubject:
        """The subject of the result, from `of`."""
        parsed = parse_subject(self.of)
        assert parsed is not None
        return parsed

    def times(self, end: float) -> tuple[float, ...]:
        """The times at which a run from 0 to `end` looks at the result, s."""
        if self.over is None:
            return (end if self.at is None else self.at,)
        return times_every(self.every or end / SAMPLES, end)
