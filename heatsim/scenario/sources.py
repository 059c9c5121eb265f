"""Heat that is released inside the box, beams included, and the state that it starts from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import ConfigDict, Discriminator, Field, Tag, model_validator

from heatsim.scenario.cell_terms.cell_term import CellTerm
from heatsim.scenario.cell_terms.decay import Decay
from heatsim.scenario.cell_terms.perfusion import Perfusion
from heatsim.scenario.grid import LENGTH
from heatsim.scenario.language.base_model import ScenarioBlock, kind_tag, require_one_of, table_tag
from heatsim.scenario.language.expressions.expression import Expression, ExpressionError, depends_on
from heatsim.scenario.language.toml.messages import validation_error, validation_error_at
from heatsim.scenario.language.units import in_unit
from heatsim.scenario.language.value_types import MATERIAL, NAME, Number, file_name, quantity, temperature
from heatsim.scenario.regions import ArrayFile, Shape

FRACTION = Number("1", above=0, most=1)
HALF = Number("1", above=0, most=2)
POWER = quantity(Number("W", least=0), "t")
PATH = file_name("the name of a .csv file")
SAME_FRACTION = 1e-9


class BaseBeam(ScenarioBlock):
    """What all kinds of beam have."""

    power: Annotated[float | Expression, POWER] = Field(
        description="Power of the beam, or an expression in t [W]; the part absorbed is what heats"
    )
    path: Annotated[Path, PATH] = Field(
        description="CSV file: columns time [s], x, y, z [m] (top of the box if left out), on (1 or 0), by their "
        "names in the first line, or without one time, x, y or all five. Straight lines between rows, off outside; on "
        "holds until the next row"
    )


class GaussianBeam(BaseBeam):
    """A round beam: Gaussian across, and absorbed exponentially with depth (Beer and Lambert).

    It shines down on a surface in the box, at the z of its path. What falls beside the box or on an ambient is lost;
    but nothing leaves through the bottom of the box: all else stays in the body, however thin. Where depth is over a
    third of what lies below the surface, more than 5 % should pass: take them off in absorptivity.
    """

    kind: Literal["gaussian"] = Field(description="Distribution of the power")
    radius: Annotated[float, quantity(LENGTH)] = Field(
        description="Radius at which the intensity is 1/e2 of that in the middle [m]"
    )
    depth: Annotated[float, quantity(LENGTH)] = Field(description="Depth at which 1/e of the intensity is left [m]")
    absorptivity: Annotated[float, quantity(FRACTION)] = Field(
        1.0, description="Part of the power that is absorbed [1]"
    )


def _fractions_may_be_left_out(schema: dict[str, Any]) -> None:
    schema["required"] = [name for name in schema["required"] if name not in ("ff", "fr")]


class GoldakBeam(BaseBeam):
    """A welding arc: two quarter ellipsoids, one ahead and one behind (Goldak, Chakravarti and Bibby 1984).

    The density is highest in the middle and 1/e3 = 5 % of that on the ellipsoids. What falls beside the box or on an
    ambient is lost; but nothing leaves through the bottom of the box, however deep the ellipsoids reach.
    """

    model_config = ConfigDict(json_schema_extra=_fractions_may_be_left_out)

    kind: Literal["goldak"] = Field(description="Distribution of the power")
    a: Annotated[float, quantity(LENGTH)] = Field(description="Half width of the ellipsoids [m]")
    b: Annotated[float, quantity(LENGTH)] = Field(description="Depth of the ellipsoids [m]")
    cf: Annotated[float, quantity(LENGTH)] = Field(description="Length of the ellipsoid ahead [m]")
    cr: Annotated[float, quantity(LENGTH)] = Field(description="Length of the ellipsoid behind [m]")
    ff: Annotated[float, quantity(HALF)] = Field(
        description="Fraction of the power ahead, of 2; 2 cf/(cf + cr) if left out, which has no jump [1]"
    )
    fr: Annotated[float, quantity(HALF)] = Field(description="Fraction of the power behind; 2 - ff if left out [1]")
    efficiency: Annotated[float, quantity(FRACTION)] = Field(
        1.0, description="Part of the power that enters the body [1]"
    )

    @model_validator(mode="before")
    @classmethod
    def _fill_in_fractions(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        match {**data, **{name: in_unit(data[name], "m") for name in ("cf", "cr") if name in data}}:
            case {"ff": int() | float() as ff} if "fr" not in data and 0 < ff < 2:
                return {**data, "fr": 2.0 - ff}
            case {"fr": int() | float() as fr} if "ff" not in data and 0 < fr < 2:
                return {**data, "ff": 2.0 - fr}
            case {"ff": _} | {"fr": _}:
                return {"ff": 1.0, "fr": 1.0} | data  # the one given is reported as wrong
            case {"cf": int() | float() as cf, "cr": int() | float() as cr} if cf > 0 and cr > 0:
                return {**data, "ff": 2.0 * cf / (cf + cr), "fr": 2.0 * cr / (cf + cr)}
        return {**data, "ff": 1.0, "fr": 1.0}  # cf or cr is reported as wrong

    @model_validator(mode="after")
    def _shares_out_all_power(self) -> GoldakBeam:
        if abs(self.ff + self.fr - 2.0) > SAME_FRACTION:
            raise validation_error(f"expected ff + fr = 2, found {self.ff + self.fr:g}", "leave one of them out")
        return self


Beam = Annotated[
    Annotated[GaussianBeam, Tag("<gaussian>")] | Annotated[GoldakBeam, Tag("<goldak>")], Discriminator(kind_tag)
]


InitialValue = Annotated[float | Expression, temperature("xyz")]


class Source(ScenarioBlock):
    """Heat released in a part of the box, of one of power, power_density, perfusion, decay, trace, powers and beam.

    What is heated are the cells whose centres are in the region. A power or a trace is spread evenly over their volume,
    and released in full, whatever this is; a power density is multiplied by it, and one that varies in space counts by
    its mean over each cell.
    """

    name: Annotated[str | None, NAME] = Field(
        None, description="Name in what `heatsim zth` finds; its material, or its number, if left out"
    )
    region: Shape | None = Field(None, description="Where the heat is released; everywhere if left out")
    material: Annotated[str | None, MATERIAL] = Field(
        None, description="Or: the material in which the heat is released, wherever it is"
    )
    power: Annotated[float | Expression | None, quantity(Number("W"), "t")] = Field(
        None, description="Power in the whole region, spread evenly, number or expression in t [W]"
    )
    power_density: Annotated[float | Expression | None, quantity(Number("W/m3"), "xyztT")] = Field(
        None, description="Power in a unit volume, number or expression in x, y, z, t and the temperature T [W/m3]"
    )
    perfusion: Perfusion | None = Field(
        None, description="Heat exchanged with what pervades the body, in proportion to the difference of temperature"
    )
    decay: Annotated[float | Expression | None, quantity(Number("1/s", least=0), "xyzt")] = Field(
        None,
        description="Share of what is there that vanishes in a second, of a quantity other than temperature: number or "
        "expression in x, y, z, t [1/s]",
    )
    trace: Annotated[Path | None, file_name("the name of a .csv file")] = Field(
        None,
        description="CSV file with the power in the region: columns time [s], power [W], in this order or in that "
        "of their names in the first line; linear in between, 0 outside",
    )
    powers: Annotated[Path | None, file_name("the name of a .csv file")] = Field(
        None,
        description="CSV file with the power of each block of the floorplan in the region: columns block, power [W]; "
        "or over time: a column time [s] and one for each block [W], linear in between, 0 outside",
    )
    beam: Beam | None = Field(None, description="A moving heat source")

    @property
    def cell_term(self) -> CellTerm | None:
        """The exchange inside the body that this is, if it is one."""
        if self.decay is not None:
            return Decay.model_construct(rate=self.decay)
        return next((value for _, value in self if isinstance(value, CellTerm)), None)

    @property
    def amount(self) -> str:
        """The key that says how much: one of AMOUNTS."""
        return next(name for name in AMOUNTS if getattr(self, name) is not None)

    @property
    def following_temperature(self) -> Expression | None:
        """The power in a unit volume, W/m3, of a source that depends on T, see `CellTerm`; None for others."""
        term, density = self.cell_term, self.power_density
        if term is not None:
            return term.density
        return density if isinstance(density, Expression) and depends_on(density, "T") else None

    @property
    def loss(self) -> float | None:
        """The coefficient of a term linear in T: see `CellTerm.loss`; None for others."""
        return None if self.cell_term is None else self.cell_term.loss

    @property
    def in_proportion(self) -> bool:
        """Whether it is in proportion to the heat capacity, that is to the solubility, of where it is."""
        return self.cell_term is not None and self.cell_term.in_proportion

    @property
    def everywhere(self) -> bool:
        """Whether it has neither a region nor a material."""
        return self.region is None and self.material is None

    @model_validator(mode="before")
    @classmethod
    def _power_is_even(cls, data: Any) -> Any:
        if isinstance(data, dict) and isinstance(data.get("power"), str):
            try:
                names = Expression.parse(data["power"], frozenset("xyzt")).names
            except ExpressionError:
                return data
            if places := ", ".join(sorted(names - {"t"})):
                message = f"expected a number or an expression in t (W), found one in {places}"
                hint = "power is that of the whole region, spread evenly; power_density (W/m3) may vary over it"
                raise validation_error_at(("power",), message, hint)
        return data

    @model_validator(mode="after")
    def _has_one_amount(self) -> Self:
        require_one_of(self, **AMOUNTS)
        return self

    @model_validator(mode="after")
    def _powers_are_of_blocks(self) -> Self:
        plan = None if self.region is None else self.region.floorplan
        if self.powers is not None and (plan is None or plan.unit is not None):
            found = "none" if plan is None else f"its block {plan.unit!r} alone"
            hint = "region = { floorplan = { file = ..., z = [...] } }; power is that of one block"
            raise validation_error(f"expected a floorplan in region, whose blocks have the powers, found {found}", hint)
        return self

    @model_validator(mode="after")
    def _has_a_region_or_a_beam(self) -> Self:
        if self.beam is not None and self.region is not None:
            raise validation_error("expected beam without region, found both", "a beam heats where it shines")
        return self

    @model_validator(mode="after")
    def _has_one_place(self) -> Self:
        other = "beam" if self.beam is not None else "region" if self.region is not None else None
        if self.material is not None and other:
            raise validation_error(f"expected material or {other}, found both")
        return self

    @model_validator(mode="after")
    def _is_in_a_shape(self) -> Self:
        if self.region is not None and self.region.forms in ((), ("labels",)):
            given = "labels" if self.region.forms else "none"
            forms = "box, sphere, cylinder, polygon, where, labelled, stl, floorplan or gds"
            message = f"expected {forms} in region, found {given}"
            raise validation_error(message, "leave region out for everywhere")
        return self


# The keys of a source that are tables of a term of cells.
CELL_TERMS = tuple(
    name
    for name, field in Source.model_fields.items()
    if any(isinstance(each, type) and issubclass(each, CellTerm) for each in get_args(field.annotation))
)
# The keys of a source that say how much, and their units.
AMOUNTS = {
    name: {"power": "W", "power_density": "W/m3", "decay": "1/s"}.get(name, "")
    for name in Source.model_fields
    if name not in ("name", "region", "material")
}


class Initial(ScenarioBlock):
    """The state at t = 0; of a steady state, where the search for it begins."""

    temperature: Annotated[
        Annotated[InitialValue, Tag("<scalar>")] | Annotated[ArrayFile, Tag("<table>")],
        Discriminator(table_tag),
    ] = Field(
        description="Temperature, of an expression its mean over each cell, or an array of it, such as a snapshot has "
        "[K or degC]"
    )
