"""Faces with a given heat flux."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from heatsim.scenario.faces.condition import FaceCondition, Inputs, Terms
from heatsim.scenario.language.expressions.expression import Expression
from heatsim.scenario.language.value_types import Number, quantity


class Flux(FaceCondition):
    """A given heat flux enters the body."""

    GIVEN_FLUX: ClassVar[str] = "flux"

    kind: Literal["flux"] = Field(description="Kind of the face")
    flux: Annotated[float | Expression, quantity(Number("W/m2"), "xyzt")] = Field(
        description="Heat flux into the body, or an expression in x, y, z, t [W/m2]"
    )

    def affine(self, values: Inputs, resistance: np.ndarray) -> tuple[Terms, Terms]:
        """The ghost is warmer than the cell by q h/k."""
        return 0.0, values("flux") * resistance

    def surface_terms(self, values: Inputs) -> dict[str, Terms]:
        """The flux itself."""
        return {"flux": values("flux")}
