"""When something is recorded."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from heatsim.scenario.part import Part
from heatsim.scenario.values import Number, numbers, quantity
from heatsim.scenario.wording import flaw

MOST_TIMES = 1_000_000

Every = Annotated[float | None, quantity(Number("s", above=0))]
Count = Annotated[int | None, quantity(Number("1", least=1, most=MOST_TIMES, whole=True))]


class Schedule(Part):
    """Times at which something is recorded, in one of three forms."""

    every: Every = Field(None, description="Interval, from t = 0 on; the end is recorded too [s]")
    at: Annotated[tuple[float, ...] | None, numbers(Number("s", least=0))] = Field(
        None, description="The times themselves [s]"
    )
    count: Count = Field(None, description="Number of equal intervals from 0 to the end, both recorded [1]")

    @model_validator(mode="after")
    def _has_one_form(self) -> Self:
        given = [name for name in ("every", "at", "count") if getattr(self, name) is not None]
        if len(given) != 1:
            raise flaw(f"expected one of every (s), at (s) and count, found {' and '.join(given) or 'none'}")
        return self

    def times(self, end: float) -> tuple[float, ...]:
        """Return the times to record in a run from 0 to `end` [s], sorted, unique, within [0, end].

        Each is a multiple of the interval, not a sum of intervals, so nothing drifts, and rounded to twelve digits, so
        that schedules meet where they should. The end is always among them, unless the times are listed.
        """
        if self.at is not None:
            return tuple(sorted({time for time in self.at if time <= end}))
        if self.count is not None:
            return (*(_rounded(i * end / self.count) for i in range(self.count)), end)
        every = self.every or end
        last = int(end / every * (1 - 1e-9))  # what comes so close to the end is the end
        return (*(_rounded(i * every) for i in range(last + 1)), end)


def _rounded(time: float) -> float:
    return float(f"{time:.12g}")


class Recorded(Part):
    """Something recorded at regular times, with the keys of a schedule in its own table."""

    every: Every = Field(None, description="Interval between records, from t = 0 on [s]; this or count is needed")
    count: Count = Field(None, description="Or: number of equal intervals from 0 to the end [1]")

    @model_validator(mode="after")
    def _has_one_schedule(self) -> Self:
        if (self.every is None) == (self.count is None):
            found = "none" if self.every is None else "both"
            raise flaw(f"expected one of every (s) and count, found {found}")
        return self

    @property
    def schedule(self) -> Schedule:
        """When it is recorded."""
        return Schedule(count=self.count) if self.every is None else Schedule(every=self.every)

    def times(self, end: float) -> tuple[float, ...]:
        """Return the times to record in a run from 0 to `end` [s]; see `Schedule.times`."""
        return self.schedule.times(end)
