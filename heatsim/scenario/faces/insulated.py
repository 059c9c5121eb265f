"""Insulated faces."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from heatsim.scenario.faces.condition import FaceCondition


class Insulated(FaceCondition):
    """No heat passes."""

    PASSES_HEAT: ClassVar[bool] = False

    kind: Literal["insulated"] = Field("insulated", description="Kind of the face")
