"""Faces with convection to an ambient."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from heatsim.physics.boundary.condition import FaceCondition, Inputs, TemperatureInput, Terms
from heatsim.scenario.expressions.expression import Expression, depends_on
from heatsim.scenario.toml.messages import validation_error_at
from heatsim.scenario.value_types import Number, quantity


class Convection(FaceCondition):
    """Heat passes to an ambient in proportion to the difference in temperature.

    With an emissivity the surface also radiates to black surroundings at the temperature of the ambient.

    A coefficient in T is found anew in every step, and explicit steps of the whole box take several times as long: see
    docs/guide/materials.md.
    """

    STRENGTH: ClassVar[str] = "coefficient"

    kind: Literal["convection"] = Field(description="Kind of the face")
    coefficient: Annotated[float | Expression, quantity(Number("W/(m2 K)", least=0), "xyztT")] = Field(
        description="Heat transfer coefficient, or an expression in x, y, z, t and T of the surface [W/(m2 K)]"
    )
    emissivity: Annotated[float | Expression | None, quantity(Number("1", least=0, most=1), "xyz")] = Field(
        None, description="Emissivity of a surface that radiates, too, or an expression in x, y, z [1]"
    )
    ambient: TemperatureInput = Field(description="Ambient temperature, or an expression in x, y, z, t [K or degC]")

    @model_validator(mode="after")
    def _has_one_factor_in_temperature(self) -> Self:
        if self.emissivity is not None and depends_on(self.coefficient, "T"):
            message = "expected a coefficient without T beside an emissivity, found one in T"
            remedy = "leave emissivity out and add emissivity*5.67e-8*(T**2 + Ta**2)*(T + Ta) to it, in kelvin"
            raise validation_error_at(("coefficient",), message, remedy)
        return self

    @property
    def temperature_dependent(self) -> bool:
        """Whether the coefficient depends on T, or the surface radiates."""
        return self.emissivity is not None or super().temperature_dependent

    def ties_temperature(self, values: Inputs) -> bool:
        """Where there is a coefficient or an emissivity."""
        radiates = self.emissivity is not None and bool((values("emissivity") > 0).any())
        return radiates or super().ties_temperature(values)

    def affine(self, values: Inputs, resistance: np.ndarray) -> tuple[Terms, Terms]:
        """-s and s Tinf with s = U h/k and U = 1/(1/hc + h/(2k)), through the half cell.

        (0, 0) where hc depends on T or the surface radiates.

        Written so that hc = 0 needs no division by zero.
        """
        if self.temperature_dependent:
            return 0.0, 0.0
        coefficient, ambient = values("coefficient"), values("ambient")
        s = coefficient * resistance / (1.0 + 0.5 * coefficient * resistance)
        return -s, s * ambient

    def surface_terms(self, values: Inputs) -> dict[str, Terms]:
        """The coefficient without its factor in T, the emissivity, and the ambient's temperature."""
        ambient = values("ambient")
        terms: dict[str, Terms] = {"coefficient": values("coefficient"), "ambient": ambient}
        if self.emissivity is not None:
            terms |= {"emissivity": values("emissivity"), "surroundings": ambient}
        return terms
