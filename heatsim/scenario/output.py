"""What is recorded during a run and looked for afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from heatsim.scenario.language.base_model import ScenarioBlock
from heatsim.scenario.language.toml.messages import found, quote, validation_error
from heatsim.scenario.language.units import in_unit
from heatsim.scenario.language.value_types import (
    FLAG,
    MATERIAL,
    NAME,
    Number,
    ValidationContext,
    ValueType,
    numbers,
    quantity,
    temperature,
    temperatures,
)
from heatsim.scenario.regions import Point, Shape
from heatsim.scenario.results import Result
from heatsim.scenario.schedules import Recorded, Schedule

Name = Annotated[str, NAME]
HISTORY_FIELDS = ("peak_temperature", "time_above", "cooling_rate")  # fields that depend on all that has been
FieldName = Literal[
    "peak_temperature",
    "cooling_rate",
    "heat_flux",
    "gradient",
    "melted_fraction",
    "concentration",
    "time_above",
]


class Slice(Recorded):
    """A plane through the box, drawn and kept: the cells that it cuts."""

    axis: Literal["x", "y", "z"] = Field(description="The axis normal to the plane")
    at: Annotated[float, quantity(Number("m"))] = Field(description="Where the plane cuts the axis [m]")
    name: Name = Field("", description="Name in file names; such as z_0.005 if left out")

    @model_validator(mode="before")
    @classmethod
    def _fill_in_the_name(cls, data: Any) -> Any:
        if not isinstance(data, dict) or "name" in data:
            return data
        match data.get("axis"), in_unit(data.get("at"), "m"):
            case "x" | "y" | "z" as axis, int() | float() as at:
                return {**data, "name": f"{axis}_{at:.9g}"}
        return data


class Probe(Recorded):
    """A point whose temperature is recorded, from the cells of the material that it lies in."""

    name: Name = Field(description="Name of the column in probes.csv")
    at: Point = Field(
        description="Place x, y, z [m]; on a face of the box the temperature of its surface, by the balance of heat; "
        "where something depends on temperature, on a straight line through the two cells nearest to it"
    )


class Statistics(Recorded, Shape):
    """A part of the box, a shape or all of a material, of which temperatures and energy are kept.

    Energy is what its solid cells hold over what they held at t = 0; of a steady state, over the initial temperature.
    """

    name: Name = Field(description="Name of the columns in regions.csv")
    material: Annotated[str | None, MATERIAL] = Field(None, description="Name of a material, instead of a shape")
    by_block: bool = Field(
        False, description="Whether each block of a floorplan has columns of its own, named name_block"
    )

    @model_validator(mode="after")
    def _has_blocks(self) -> Self:
        if self.by_block and (self.floorplan is None or self.floorplan.unit is not None):
            raise validation_error("expected a floorplan, without unit, beside by_block", "its blocks have columns")
        return self

    @model_validator(mode="after")
    def _is_a_shape_or_a_material(self) -> Self:
        given = [*self.forms, *(["material"] if self.material is not None else [])]
        if len(given) != 1 or self.labels is not None:
            raise validation_error(f"expected one of a shape and a material, found {' and '.join(given) or 'none'}")
        return self


Isotherm = Annotated[float, temperature()]


class MeltPoolSize(Recorded):
    """The size of what is hotter than an isotherm, such as the liquidus, as melt_pool.csv: see docs/guide/results.md.

    Extents and volume are found to a part of a cell. All hot places together count as one pool.
    """

    temperature: Isotherm = Field(description="The isotherm [K or degC]")
    along: Literal["x", "y"] = Field("x", description="The axis of the length; the width is along the other one")


def _colour_range(value: Any, context: ValidationContext) -> Any:
    if value in ("run", "frame"):
        return value
    if not isinstance(value, (list, tuple)):
        raise validation_error(f'expected "run", "frame" or an array of 2 temperatures, found {found(value)}')
    number = Number(context.quantity.unit, least=context.quantity.zero)
    return numbers(number, length=2, increasing=True).check(value, context)


_ENDS = {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2}
COLOUR_RANGE = ValueType(_colour_range, {"anyOf": [{"enum": ["run", "frame"]}, _ENDS]})


class Pictures(ScenarioBlock):
    """How the pictures look that a run draws of its slices, and what else it draws at its end."""

    theme: Literal["light", "dark"] = Field("light", description="Colours of the page")
    format: Literal["png", "svg", "pdf"] = Field("png", description="Format of the pictures")
    range: Annotated[Literal["run", "frame"] | tuple[float, float], COLOUR_RANGE] = Field(
        "run", description="Range of the colours: over all times, of each picture, or [lowest, highest] [K or degC]"
    )
    levels: Annotated[tuple[float, ...], temperatures(1)] = Field(
        (), description="Temperatures that have a line of their own [K or degC]"
    )
    contours: Annotated[bool, FLAG] = Field(
        True, description="Whether there are isotherms at the ticks of the colour scale"
    )
    overview: Annotated[bool, FLAG] = Field(
        False, description="Whether the run is drawn on one page, pictures/overview.png"
    )
    movie: Literal["gif", "webp", "mp4"] | None = Field(
        None, description="Format of a movie of each slice, in pictures/; mp4 needs heatsim[movie]"
    )


class CheckpointInterval(ScenarioBlock):
    """How often the run is saved so that it can be resumed."""

    every_minutes: Annotated[float, quantity(Number("min", above=0))] = Field(
        description="Wall time between checkpoints [min]"
    )


class Output(ScenarioBlock):
    """What a run leaves behind."""

    snapshots: Schedule = Field(Schedule(count=10), description="When the whole field is kept; ten times if left out")
    fields: tuple[FieldName, ...] = Field(
        (),
        description="Derived fields that snapshots hold beside the temperature; a vector is one dataset an axis, such "
        "as heat_flux_x (heat_flux_r in cylindrical coordinates)",
    )
    time_above: Annotated[float | None, temperature()] = Field(
        None, description="Of the field time_above: the temperature above which time counts [K or degC]"
    )
    cooling_through: Annotated[float | None, temperature()] = Field(
        None,
        description="Of the field cooling_rate: the temperature through which a cell cools, of what melts some tens of "
        "kelvin below its solidus; the solidus, if left out [K or degC]",
    )
    energy: Schedule | None = Field(None, description="When the energy balance is kept in energy.csv")
    checkpoint: CheckpointInterval | None = Field(None, description="How often the run is saved to be resumed")
    compression: Literal["none", "fast", "small"] = Field(
        "fast",
        description="How snapshots, slices and checkpoints are packed, to read back as the same values: fast; small, "
        "which takes many times as long for files smaller by 2 to 6 %, or by half where little varies; none",
    )
    slices: tuple[Slice, ...] = Field((), description="Planes to draw and keep")
    pictures: Pictures = Field(Pictures(), description="How slices are drawn, and what else is")
    probes: tuple[Probe, ...] = Field((), description="Points to record in probes.csv")
    regions: tuple[Statistics, ...] = Field((), description="Parts of the box to keep statistics of in regions.csv")
    results: tuple[Result, ...] = Field((), description="Numbers for which the run is made")
    melt_pool: MeltPoolSize | None = Field(None, description="When the size of the melt pool is kept in melt_pool.csv")

    def times(self, end: float) -> tuple[float, ...]:
        """Return the times at which anything is recorded in a run from 0 to `end` [s], sorted and unique."""
        timed: list[Schedule | Recorded | Result] = [*(schedule for _, schedule in self.schedules()), *self.results]
        return tuple(sorted({time for each in timed for time in each.times(end)}))

    def schedules(self) -> Iterator[tuple[tuple[str | int, ...], Schedule | Recorded]]:
        """The key below `output` and the schedule of each thing that is recorded."""
        for name, value in self:
            if isinstance(value, Schedule | Recorded):
                yield (name,), value
            elif isinstance(value, tuple):
                yield from (((name, i), part) for i, part in enumerate(value) if isinstance(part, Schedule | Recorded))

    @model_validator(mode="after")
    def _has_each_field_once(self) -> Self:
        for name in self.fields:
            if self.fields.count(name) > 1:
                raise validation_error(
                    f"expected each field once, found {quote(name)} {self.fields.count(name)} times in fields"
                )
        return self

    @model_validator(mode="after")
    def _knows_above_what(self) -> Self:
        if "time_above" in self.fields and self.time_above is None:
            raise validation_error(
                'expected time_above with "time_above" in fields, found none', "the temperature to exceed"
            )
        if "time_above" not in self.fields and self.time_above is not None:
            raise validation_error('expected "time_above" in fields with time_above, found none')
        if "cooling_rate" not in self.fields and self.cooling_through is not None:
            raise validation_error('expected "cooling_rate" in fields with cooling_through, found none')
        return self


MAX_FRAMES = 100


class Hotspots(ScenarioBlock):
    """Search for hot spots on the slices, at the end of the run."""

    scales: Annotated[tuple[float, ...], numbers(Number("m", above=0))] = Field(
        description="Sizes of the spots to look for, as standard deviations [m]"
    )
    threshold: Annotated[float, quantity(Number("K", above=0))] = Field(
        description="Least rise over the surroundings [K]"
    )
    frames: Annotated[int, quantity(Number("1", least=1, most=MAX_FRAMES, whole=True))] = Field(
        1, description="Number of last frames of a slice of which the mean is searched [1]"
    )
