"""What the box is made of: materials, ambients, contacts between materials."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Discriminator, Field, Tag, model_validator

from heatsim.scenario.base_model import ScenarioBlock, form_tag, require_one_of, table_tag
from heatsim.scenario.expressions.expression import Expression
from heatsim.scenario.toml.messages import quote, validation_error
from heatsim.scenario.value_types import MATERIAL, NAME, Number, numbers, quantity, temperature, temperatures

MAX_MATERIALS = 255  # a cell's material is one byte

CONDUCTIVITY = Number("W/(m K)", above=0)
HEAT_CAPACITY = Number("J/(kg K)", above=0)
MaterialName = Annotated[str, NAME]
Temperature = Annotated[float, temperature()]
TemperatureOverTime = Annotated[float | Expression, temperature("t")]


class PropertyTable(ScenarioBlock):
    """A property that depends on temperature: straight lines between points, constant beyond them."""

    T: Annotated[tuple[float, ...], temperatures(least=2)] = Field(
        description="Temperatures of the points, increasing [K or degC]"
    )
    value: tuple[float, ...] = Field(description="The property at the points [its unit]")

    @model_validator(mode="after")
    def _has_a_value_for_each_temperature(self) -> Self:
        if len(self.T) != len(self.value):
            raise validation_error(f"expected as many values as T, found {len(self.value)} and {len(self.T)}")
        return self


class ConductivityTable(PropertyTable):
    """Conductivity that depends on temperature: straight lines between points, constant beyond them.

    It is the same along all axes.
    """

    value: Annotated[tuple[float, ...], numbers(CONDUCTIVITY, least=2)] = Field(
        description="Conductivity at the points [W/(m K)]"
    )


class HeatCapacityTable(PropertyTable):
    """Heat capacity that depends on temperature: straight lines between points, constant beyond them."""

    value: Annotated[tuple[float, ...], numbers(HEAT_CAPACITY, least=2)] = Field(
        description="Specific heat capacity at the points [J/(kg K)]"
    )


class Latent(ScenarioBlock):
    """Heat of melting, taken up evenly between solidus and liquidus, or all at once where these are the same.

    What starts between the two has molten in part; what starts at the solidus is solid, also where it is the liquidus.
    """

    heat: Annotated[float, quantity(Number("J/kg", above=0))] = Field(description="Latent heat [J/kg]")
    solidus: Temperature = Field(description="Where melting starts [K or degC]")
    liquidus: Temperature = Field(description="Where melting ends [K or degC]")

    @model_validator(mode="after")
    def _melts_over_a_range(self) -> Self:
        if self.liquidus < self.solidus:
            raise validation_error(f"expected solidus <= liquidus, found {self.solidus:g} and {self.liquidus:g}")
        return self


class Material(ScenarioBlock):
    """A solid at rest; regions paint it by its name."""

    conductivity: Annotated[
        Annotated[float | Expression, quantity(CONDUCTIVITY, "T"), Tag("<scalar>")]
        | Annotated[tuple[float, float, float], numbers(CONDUCTIVITY, length=3), Tag("<array>")]
        | Annotated[ConductivityTable, Tag("<table>")],
        Discriminator(form_tag),
    ] = Field(
        description="Thermal conductivity [W/(m K)]: a number; one along each of x, y, z; or a table or an expression "
        "in T, which hold along all axes alike"
    )
    density: Annotated[float, quantity(Number("kg/m3", above=0))] = Field(description="Density [kg/m3]")
    heat_capacity: Annotated[
        Annotated[float | Expression, quantity(HEAT_CAPACITY, "T"), Tag("<scalar>")]
        | Annotated[HeatCapacityTable, Tag("<table>")],
        Discriminator(table_tag),
    ] = Field(description="Specific heat capacity [J/(kg K)]: a number, or a table or an expression in T")
    latent: Latent | None = Field(None, description="Latent heat of melting")

    def temperature_dependent_keys(self) -> list[str]:
        """The keys whose values depend on temperature: tables, expressions and a latent heat."""
        return [name for name, value in self if isinstance(value, PropertyTable | Expression | Latent)]


class Ambient(ScenarioBlock):
    """A region that is not solved: where it meets a solid, heat passes by convection.

    Regions name it as they name materials. It needs one of coefficient and resistance.
    """

    temperature: TemperatureOverTime = Field(
        description="Temperature of the ambient, or an expression in t [K or degC]"
    )
    coefficient: Annotated[float | None, quantity(Number("W/(m2 K)", above=0))] = Field(
        None, description="Heat transfer coefficient [W/(m2 K)]"
    )
    resistance: Annotated[float | None, quantity(Number("m2 K/W", above=0))] = Field(
        None, description="Or: surface resistance, its inverse [m2 K/W]"
    )

    @model_validator(mode="after")
    def _has_one_coefficient(self) -> Self:
        require_one_of(self, coefficient="W/(m2 K)", resistance="m2 K/W")
        return self


class Contact(ScenarioBlock):
    """A thermal resistance wherever two materials touch."""

    between: tuple[Annotated[str, MATERIAL], Annotated[str, MATERIAL]] = Field(description="Names of the two materials")
    resistance: Annotated[float, quantity(Number("m2 K/W", above=0))] = Field(description="Contact resistance [m2 K/W]")

    @model_validator(mode="after")
    def _has_two_materials(self) -> Self:
        if self.between[0] == self.between[1]:
            raise validation_error(f"expected two different materials, found {quote(self.between[0])} twice")
        return self
