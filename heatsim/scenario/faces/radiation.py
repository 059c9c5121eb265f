"""Faces that radiate."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from heatsim.scenario.faces.condition import FaceCondition, Inputs, TemperatureInput, Terms
from heatsim.scenario.language.expressions.expression import Expression
from heatsim.scenario.language.value_types import Number, quantity


class Radiation(FaceCondition):
    """Heat is radiated to black surroundings."""

    STRENGTH: ClassVar[str] = "emissivity"

    kind: Literal["radiation"] = Field(description="Kind of the face")
    emissivity: Annotated[float | Expression, quantity(Number("1", least=0, most=1), "xyztT")] = Field(
        description="Emissivity, or an expression in x, y, z, t and T of the surface [1]"
    )
    ambient: TemperatureInput = Field(
        description="Temperature of the surroundings, or an expression in x, y, z, t [K or degC]"
    )

    def surface_terms(self, values: Inputs) -> dict[str, Terms]:
        """The emissivity without its factor in T, and the temperature of the surroundings."""
        return {"emissivity": values("emissivity"), "surroundings": values("ambient")}

    @property
    def temperature_dependent(self) -> bool:
        """Always: the flux is of fourth order in T."""
        return True
