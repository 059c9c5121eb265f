"""Faces with convection to an ambient."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from heatsim.physics.boundary.condition import FaceCondition, Inputs, TemperatureInput, Terms
from heatsim.scenario.expressions.expression import Expression
from heatsim.scenario.value_types import Number, quantity


class Convection(FaceCondition):
    """Heat passes to an ambient in proportion to the difference in temperature.

    A coefficient in T is found anew in every step, and explicit steps of the whole box take several times as long: see
    docs/guide/materials.md.
    """

    STRENGTH: ClassVar[str] = "coefficient"

    kind: Literal["convection"] = Field(description="Kind of the face")
    coefficient: Annotated[float | Expression, quantity(Number("W/(m2 K)", least=0), "xyztT")] = Field(
        description="Heat transfer coefficient, or an expression in x, y, z, t and T of the surface [W/(m2 K)]"
    )
    ambient: TemperatureInput = Field(description="Ambient temperature, or an expression in x, y, z, t [K or degC]")

    def affine(self, values: Inputs, resistance: np.ndarray) -> tuple[Terms, Terms]:
        """-s and s Tinf with s = U h/k and U = 1/(1/hc + h/(2k)), through the half cell; (0, 0) where hc depends on T.

        Written so that hc = 0 needs no division by zero.
        """
        if self.temperature_dependent:
            return 0.0, 0.0
        coefficient, ambient = values("coefficient"), values("ambient")
        s = coefficient * resistance / (1.0 + 0.5 * coefficient * resistance)
        return -s, s * ambient

    def surface_terms(self, values: Inputs) -> dict[str, Terms]:
        """The coefficient without its factor in T, and the ambient's temperature."""
        return {"coefficient": values("coefficient"), "ambient": values("ambient")}
