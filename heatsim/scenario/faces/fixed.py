"""Faces at a given temperature."""

from __future__ import annotations

from math import inf
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from heatsim.scenario.faces.condition import FaceCondition, Inputs, TemperatureInput, Terms


class Fixed(FaceCondition):
    """The surface has a given temperature."""

    GIVEN_TEMPERATURE: ClassVar[str] = "temperature"

    kind: Literal["fixed"] = Field(description="Kind of the face")
    temperature: TemperatureInput = Field(description="Surface temperature, or an expression in x, y, z, t [K or degC]")

    def affine(self, values: Inputs, resistance: np.ndarray) -> tuple[Terms, Terms]:
        """The mean of the cell and its ghost is the temperature of the surface."""
        return -2.0, 2.0 * values("temperature")

    def surface_terms(self, values: Inputs) -> dict[str, Terms]:
        """A coefficient without bound."""
        return {"coefficient": inf, "ambient": values("temperature")}

    def ties_temperature(self, values: Inputs) -> bool:
        """Always."""
        return True
