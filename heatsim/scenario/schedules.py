"""Times at which something is recorded."""

from __future__ import annotations

from math import floor, inf, log10
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self, TypeAlias

import numpy as np
from pydantic import AfterValidator, Discriminator, Field, Tag, model_validator

from heatsim.scenario.language.base_model import ScenarioBlock, form_tag
from heatsim.scenario.language.csv_file import CsvError, read_csv
from heatsim.scenario.language.toml.messages import validation_error, validation_error_at
from heatsim.scenario.language.value_types import Number, file_name, numbers, quantity

MAX_TIMES = 1_000_000
MAX_PER_DECADE = 10_000

Every = Annotated[float | None, quantity(Number("s", above=0))]
Count = Annotated[int | None, quantity(Number("1", least=1, most=MAX_TIMES, whole=True))]
After = Annotated[float, quantity(Number("s", least=0))]
FORMS = ("every (s)", "count", "times")


class LogarithmicTimes(ScenarioBlock):
    """Times in equal ratios, as for transients that begin fast and end slow."""

    first: Annotated[float, quantity(Number("s", above=0))] = Field(alias="from", description="First of the times [s]")
    last: Annotated[float, quantity(Number("s", above=0))] = Field(alias="to", description="Last of the times [s]")
    per_decade: Annotated[int, quantity(Number("1", least=1, most=MAX_PER_DECADE, whole=True))] = Field(
        description="How many there are from a time to ten times as much [1]"
    )

    @model_validator(mode="after")
    def _has_a_span(self) -> Self:
        if not self.first < self.last:
            raise validation_error(f"expected from < to (s), found {self.first:g} and {self.last:g}")
        return self

    def times(self) -> tuple[float, ...]:
        """The times, s: the first and the last among them."""
        count = floor(self.per_decade * log10(self.last / self.first) * (1 + 1e-12))
        spaced = (_rounded(self.first * 10.0 ** (i / self.per_decade)) for i in range(count + 1))
        return tuple(sorted({*(time for time in spaced if time < self.last), self.last}))


class TimesFile(ScenarioBlock):
    """Times from a CSV file."""

    file: Annotated[Path, file_name("the name of a .csv file")] = Field(
        description="CSV file of times, with or without a line of names; in s unless the head has a unit, as time [h]"
    )
    column: str | None = Field(None, description="Name of the column of the times; the first, if left out")


def _read_times(value: Any) -> Any:
    """The times in a file; anything else as it is."""
    if not isinstance(value, TimesFile):
        return value
    try:
        table = read_csv(value.file)
    except CsvError as error:
        raise validation_error_at(("file",), f"{value.file.name}: {error}") from None
    try:
        place = 0 if value.column is None else table.place(value.column)
    except CsvError as error:
        raise validation_error_at(("column",), f"{error} in {value.file.name}", error.hint) from None
    if not 1 <= len(table.rows) <= MAX_TIMES:
        message = f"{value.file.name}: expected 1 to {MAX_TIMES} times, found {len(table.rows)}"
        raise validation_error_at(("file",), message)
    try:
        times = table.numbers(place, "s")
    except CsvError as error:
        raise validation_error_at(("file",), f"{value.file.name}: {error}") from None
    early = np.flatnonzero(times < 0.0)
    if early.size:
        row = int(early[0])
        message = f"row {table.lines[row]}: expected a time >= 0 (s), found {times[row]:g}"
        raise validation_error_at(("file",), f"{value.file.name}: {message}")
    return tuple(times.tolist())


def _times_tag(value: Any) -> str:
    if form_tag(value) == "<array>":
        return "<array>"
    refers = isinstance(value, TimesFile) or (isinstance(value, dict) and "file" in value)
    return "<file>" if refers else "<table>"


if TYPE_CHECKING:
    Times: TypeAlias = LogarithmicTimes | tuple[float, ...]
else:
    Times = Annotated[
        Annotated[tuple[float, ...], numbers(Number("s", least=0), most=MAX_TIMES), Tag("<array>")]
        | Annotated[LogarithmicTimes, Tag("<table>")]
        | Annotated[TimesFile, Tag("<file>")],
        Discriminator(_times_tag),
        AfterValidator(_read_times),
    ]


class Recorded(ScenarioBlock):
    """Something recorded at times that are given in one of three forms."""

    every: Every = Field(None, description="Interval between records, from t = 0 on; the end is recorded too [s]")
    count: Count = Field(None, description="Or: number of equal intervals from 0 to the end, both recorded [1]")
    spaced: Times | None = Field(
        None,
        alias="times",
        description="Or: the times themselves [s]; or as { from, to, per_decade } or { file, column }; what is after "
        "the end is left out",
    )
    after: After = Field(0.0, description="Only from this time on [s]")

    @model_validator(mode="after")
    def _has_one_schedule(self) -> Self:
        given = [form for form, value in self._forms() if value is not None]
        if len(given) != 1:
            names = [form for form, _ in self._forms()]
            expected = f"{', '.join(names[:-1])} and {names[-1]}"
            raise validation_error(f"expected one of {expected}, found {' and '.join(given) or 'none'}")
        return self

    def _forms(self) -> list[tuple[str, Any]]:
        return list(zip(FORMS, (self.every, self.count, self.spaced), strict=True))

    def times(self, end: float) -> tuple[float, ...]:
        """Return the times to record in a run from 0 to `end` [s], sorted, unique, within [0, end]; an infinite end,
        that of a steady state, alone.

        Each is a multiple of the interval, not a sum of intervals, so nothing drifts, and rounded to twelve digits, so
        that schedules meet where they should. The end is always among them, unless the times are listed.
        """
        if end == inf:
            return () if self.spaced == () else (inf,)
        return tuple(time for time in self._all_times(end) if time >= self.after or time == end)

    def _all_times(self, end: float) -> tuple[float, ...]:
        if self.spaced is not None:
            listed = self.spaced.times() if isinstance(self.spaced, LogarithmicTimes) else self.spaced
            return tuple(sorted({time for time in listed if time <= end}))
        if self.count is not None:
            return (*(_rounded(i * end / self.count) for i in range(self.count)), end)
        return times_every(self.every or end, end)


class Schedule(Recorded):
    """Times at which something is recorded, in one of four forms."""

    at: Annotated[tuple[float, ...] | None, numbers(Number("s", least=0))] = Field(
        None, description="Or: the times themselves, up to the end [s]"
    )

    def _forms(self) -> list[tuple[str, Any]]:
        every, *others = super()._forms()
        return [every, ("at (s)", self.at), *others]

    def times(self, end: float) -> tuple[float, ...]:
        """Return the times to record, as `Recorded.times` does."""
        return () if end == inf and self.at == () else super().times(end)

    def _all_times(self, end: float) -> tuple[float, ...]:
        if self.at is not None:
            return tuple(sorted({time for time in self.at if time <= end}))
        return super()._all_times(end)


def times_every(interval: float, end: float) -> tuple[float, ...]:
    """The multiples of an interval from 0 on, and the end, s."""
    last = int(end / interval * (1 - 1e-9))  # what comes so close to the end is the end
    return (*(_rounded(i * interval) for i in range(last + 1)), end)


def _rounded(time: float) -> float:
    return float(f"{time:.12g}")
