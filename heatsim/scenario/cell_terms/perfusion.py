"""Exchange with something that pervades the body."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from heatsim.scenario.cell_terms.cell_term import CellTerm, as_text, if_constant, parsed
from heatsim.scenario.language.expressions.expression import Expression, Value
from heatsim.scenario.language.value_types import Number, quantity, temperature

SourceTemperature = Annotated[float | Expression, temperature("xyzt")]


class Perfusion(CellTerm):
    """Exchange with something that pervades the body, such as blood in tissue or a coolant in a porous block:
    coefficient * (temperature - T) in a unit volume."""

    coefficient: Annotated[float | Expression, quantity(Number("W/(m3 K)", least=0), "xyzt")] = Field(
        description="Heat exchanged in a unit volume for each kelvin, number or expression in x, y, z, t [W/(m3 K)]; "
        "for blood, flow in a unit volume times its density and heat capacity"
    )
    temperature: SourceTemperature = Field(
        description="Temperature of what pervades the body, number or expression in x, y, z, t [K or degC]"
    )

    @property
    def density(self) -> Expression:
        """c (T_p - T): Pennes, J. Appl. Physiol. 1, 93 (1948)."""
        return parsed(f"({as_text(self.coefficient)})*(({as_text(self.temperature)}) - T)")

    @property
    def loss(self) -> float | None:
        """c."""
        return if_constant(self.coefficient)

    @property
    def rest(self) -> Value:
        """T_p."""
        return self.temperature

    @property
    def temperatures(self) -> tuple[Value, ...]:
        """T_p."""
        return (self.temperature,)
