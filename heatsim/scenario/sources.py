"""Heat that is released inside the box, and the state it starts from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Self

from pydantic import Discriminator, Field, Tag, model_validator

from heatsim.scenario.beams import Beam
from heatsim.scenario.expressions import Expression
from heatsim.scenario.part import Part, tag
from heatsim.scenario.shapes import ArrayFile, Shape
from heatsim.scenario.values import Number, file_name, quantity, temperature
from heatsim.scenario.wording import flaw

InitialValue = Annotated[float | Expression, temperature("xyz")]
AMOUNTS = ("power", "power_density", "trace", "beam")


class Source(Part):
    """Heat released in a part of the box, of one of power, power_density, trace and beam.

    What is heated are the cells whose centres are in the region. A power or a trace is spread evenly over their volume,
    and released in full, whatever this is; a power density is multiplied by it.
    """

    region: Shape | None = Field(None, description="Where the heat is released; everywhere if left out")
    power: Annotated[float | Expression | None, quantity(Number("W"), "xyzt")] = Field(
        None, description="Power in the whole region, number or expression in x, y, z, t [W]"
    )
    power_density: Annotated[float | Expression | None, quantity(Number("W/m3"), "xyzt")] = Field(
        None, description="Power in a unit volume, number or expression in x, y, z, t [W/m3]"
    )
    trace: Annotated[Path | None, file_name("the name of a .csv file")] = Field(
        None,
        description="CSV file with the power in the region: columns time [s], power [W], in this order or in that "
        "of their names in the first line; linear in between, 0 outside",
    )
    beam: Beam | None = Field(None, description="A moving heat source")

    @model_validator(mode="after")
    def _has_one_amount(self) -> Self:
        given = [name for name in AMOUNTS if getattr(self, name) is not None]
        if len(given) != 1:
            expected = "expected one of power (W), power_density (W/m3), trace and beam"
            raise flaw(f"{expected}, found {' and '.join(given) or 'none'}")
        return self

    @model_validator(mode="after")
    def _has_a_region_or_a_beam(self) -> Self:
        if self.beam is not None and self.region is not None:
            raise flaw("expected beam without region, found both", "a beam heats where it shines")
        return self

    @model_validator(mode="after")
    def _is_in_a_shape(self) -> Self:
        if self.region is not None and self.region.forms in ((), ("labels",)):
            given = "labels" if self.region.forms else "none"
            message = f"expected box, sphere, cylinder or where in region, found {given}"
            raise flaw(message, "leave region out for everywhere")
        return self


class Initial(Part):
    """The state at t = 0; of a steady state, where the search for it begins."""

    temperature: Annotated[
        Annotated[InitialValue, Tag("<scalar>")] | Annotated[ArrayFile, Tag("<table>")],
        Discriminator(lambda value: "<table>" if tag(value) == "<table>" else "<scalar>"),
    ] = Field(description="Temperature at cell centres, or an array of it, such as a snapshot has [K or degC]")
