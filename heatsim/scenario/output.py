"""What is recorded during a run and looked for afterwards."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from heatsim.scenario.part import Part
from heatsim.scenario.schedule import Recorded, Schedule
from heatsim.scenario.shapes import Point
from heatsim.scenario.values import NAME, Number, quantity

Name = Annotated[str, NAME]


class Slice(Recorded):
    """A plane through the box, drawn and kept."""

    axis: Literal["x", "y", "z"] = Field(description="The axis normal to the plane")
    at: Annotated[float, quantity(Number("m"))] = Field(description="Where the plane cuts the axis [m]")
    name: Name = Field("", description="Name in file names; such as z_0.005 if left out")

    @model_validator(mode="before")
    @classmethod
    def _fill_in_the_name(cls, data: Any) -> Any:
        match data:
            case {"name": _}:
                return data
            case {"axis": "x" | "y" | "z" as axis, "at": int() | float() as at}:
                return {**data, "name": f"{axis}_{at:.9g}"}
        return data


class Probe(Recorded):
    """A point whose temperature is recorded, interpolated between cell centres."""

    name: Name = Field(description="Name of the column in probes.csv")
    at: Point = Field(description="Place x, y, z [m]")


class Checkpoint(Part):
    """How often the run is saved so that it can be resumed."""

    every_minutes: Annotated[float, quantity(Number("min", above=0))] = Field(
        description="Wall time between checkpoints [min]"
    )


class Output(Part):
    """What a run leaves behind."""

    snapshots: Schedule = Field(Schedule(count=10), description="When the whole field is kept; ten times if left out")
    energy: Schedule | None = Field(None, description="When the energy balance is kept in energy.csv")
    checkpoint: Checkpoint | None = Field(None, description="How often the run is saved to be resumed")
    slices: tuple[Slice, ...] = Field((), description="Planes to draw and keep")
    probes: tuple[Probe, ...] = Field((), description="Points to record in probes.csv")
