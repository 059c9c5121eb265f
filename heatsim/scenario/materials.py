"""What the box is made of: materials, ambients, contacts between materials."""

from __future__ import annotations

import re
from functools import cached_property
from math import nan
from typing import Annotated, Any, Self, TypeAlias

from pydantic import Discriminator, Field, Tag, model_validator

from heatsim.scenario.language.base_model import ScenarioBlock, form_tag, require_one_of, table_tag
from heatsim.scenario.language.expressions.expression import Expression, depends_on
from heatsim.scenario.language.toml.messages import quote, validation_error
from heatsim.scenario.language.value_types import MATERIAL, NAME, Number, numbers, quantity, temperature, temperatures

MAX_MATERIALS = 255  # a cell's material is one byte
_ZERO = re.compile(r"\s*0+(\.0*)?(\s+\S.*)?$")  # with a unit or without

CONDUCTIVITY = Number("W/(m K)", above=0)
HEAT_CAPACITY = Number("J/(kg K)", above=0)
DIFFUSIVITY = Number("m2/s", above=0)
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


class DiffusivityTable(PropertyTable):
    """Diffusivity that depends on the quantity: straight lines between points, constant beyond them."""

    value: Annotated[tuple[float, ...], numbers(DIFFUSIVITY, least=2)] = Field(
        description="Diffusivity at the points [m2/s]"
    )


class DiffusionMaterial(ScenarioBlock):
    """A material in which the quantity of `[quantity]` diffuses.

    Where materials touch, the quantity is the same on both sides, and what they hold in a unit volume, the quantity
    times the solubility, jumps. With a solubility of 1 the quantity is that concentration itself.
    """

    diffusivity: Annotated[
        Annotated[float | Expression, quantity(DIFFUSIVITY, "T"), Tag("<scalar>")]
        | Annotated[tuple[float, float, float], numbers(DIFFUSIVITY, length=3), Tag("<array>")]
        | Annotated[DiffusivityTable, Tag("<table>")],
        Discriminator(form_tag),
    ] = Field(
        description="Diffusivity [m2/s]: a number; one along each of x, y, z; or a table or an expression in T, which "
        "stands for the quantity"
    )
    solubility: Annotated[float, quantity(Number("1", above=0))] = Field(
        1.0, description="Amount that a unit volume holds for each unit of the quantity [1]"
    )

    @cached_property
    def conductivity(self) -> float | Expression | tuple[float, float, float] | PropertyTable:
        """What takes the place of a conductivity: diffusivity times solubility."""
        match self.diffusivity:
            case PropertyTable(T=T, value=values):
                return DiffusivityTable.model_construct(T=T, value=tuple(self.solubility * each for each in values))
            case Expression(text=text):
                return Expression.parse(f"{self.solubility!r}*({text})", frozenset("T"))
            case (x, y, z):
                return self.solubility * x, self.solubility * y, self.solubility * z
        return self.solubility * self.diffusivity

    @property
    def density(self) -> float:
        """What takes the place of a density."""
        return 1.0

    @property
    def heat_capacity(self) -> float:
        """What takes the place of a heat capacity."""
        return self.solubility

    @property
    def latent(self) -> None:
        """Nothing melts."""
        return None

    def temperature_dependent_keys(self) -> list[str]:
        """The keys whose values depend on the quantity, by those of heat conduction."""
        return ["conductivity"] if isinstance(self.diffusivity, PropertyTable | Expression) else []


AnyMaterial: TypeAlias = Material | DiffusionMaterial


class Ambient(ScenarioBlock):
    """A region that is not solved: where it meets a solid, heat passes by convection, radiation or both.

    Regions name it as they name materials. It needs a coefficient, a resistance or an emissivity. A coefficient in t
    or T, and an emissivity, make steps of the whole box slower: see docs/guide/boundaries.md.
    """

    temperature: TemperatureOverTime = Field(
        description="Temperature of the ambient, or an expression in t [K or degC]"
    )
    coefficient: Annotated[float | Expression | None, quantity(Number("W/(m2 K)", above=0), "tT")] = Field(
        None, description="Heat transfer coefficient, or an expression in t and T of the surface [W/(m2 K)]"
    )
    resistance: Annotated[float | None, quantity(Number("m2 K/W", above=0))] = Field(
        None, description="Or: surface resistance, its inverse [m2 K/W]"
    )
    emissivity: Annotated[float | None, quantity(Number("1", above=0, most=1))] = Field(
        None, description="Emissivity of the surfaces that meet it, which radiate to it as to a black body [1]"
    )

    @model_validator(mode="after")
    def _has_one_coefficient(self) -> Self:
        if isinstance(self, Void):
            return self
        if self.coefficient is None and self.resistance is None and self.emissivity is None:
            raise validation_error("expected coefficient (W/(m2 K)), resistance (m2 K/W) or emissivity, found none")
        if self.coefficient is not None and self.resistance is not None:
            require_one_of(self, coefficient="W/(m2 K)", resistance="m2 K/W")
        return self

    @property
    def by_surface(self) -> bool:
        """Whether its heat follows from the balance at the surface: no constant coefficient stands for it."""
        return self.emissivity is not None or depends_on(self.coefficient or 0.0, "tT")


class Void(Ambient):
    """A region that is not solved and exchanges no heat: a material of conductivity 0, of which nothing else counts.

    It stands among the ambients, with no coefficient, and no number as its temperature.
    """


def split_off_voids(tables: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Void]]:
    """The tables of materials, which need not be valid, without those of conductivity or diffusivity 0; and these."""
    void = [name for name, table in tables.items() if isinstance(table, dict) and _is_void(table)]
    made = {name: Void.model_construct(temperature=nan) for name in void}
    return {name: table for name, table in tables.items() if name not in made}, made


def _is_void(table: dict[str, Any]) -> bool:
    known = (*Material.model_fields, *DiffusionMaterial.model_fields)
    given = table.get("conductivity", table.get("diffusivity"))
    is_zero = given == 0 if isinstance(given, int | float) else isinstance(given, str) and bool(_ZERO.match(given))
    return is_zero and all(key in known for key in table)


class Contact(ScenarioBlock):
    """A thermal resistance wherever two materials touch.

    T is the mean temperature of the two surfaces. A resistance in t or T makes steps of the whole box slower: see
    docs/guide/materials.md.
    """

    between: tuple[Annotated[str, MATERIAL], Annotated[str, MATERIAL]] = Field(description="Names of the two materials")
    resistance: Annotated[float | Expression, quantity(Number("m2 K/W", above=0), "tT")] = Field(
        description="Contact resistance, or an expression in t and T of the interface [m2 K/W]"
    )

    @property
    def varies(self) -> bool:
        """Whether it depends on time or temperature."""
        return depends_on(self.resistance, "tT")

    @model_validator(mode="after")
    def _has_two_materials(self) -> Self:
        if self.between[0] == self.between[1]:
            raise validation_error(f"expected two different materials, found {quote(self.between[0])} twice")
        return self
