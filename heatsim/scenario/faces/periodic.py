"""Periodic faces: the index of the cells wraps, so that no heat passes the end of the box."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from heatsim.scenario.faces.condition import FaceCondition


class Periodic(FaceCondition):
    """The face is joined to the opposite one."""

    PASSES_HEAT: ClassVar[bool] = False

    kind: Literal["periodic"] = Field(description="Kind of the face")
