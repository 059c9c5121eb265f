"""How the run is computed: the time span, the integrator, the device."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from heatsim.scenario.part import Part
from heatsim.scenario.values import Number, quantity

SECONDS = Number("s", above=0)


class Time(Part):
    """The time span and the way through it."""

    end: Annotated[float, quantity(SECONDS)] = Field(description="End of the run, which starts at 0 [s]")
    step: Annotated[Literal["auto"] | float, quantity(SECONDS, words=("auto",))] = Field(
        "auto", description='Time step [s], or "auto": the largest stable one'
    )
    integrator: Literal["euler", "rkl2", "implicit", "steady"] = Field(
        "euler",
        description="Method in time: explicit Euler, super time stepping, implicit, or to steady",
    )
    tolerance: Annotated[float | None, quantity(Number("K", above=0))] = Field(
        None, description="Error allowed: in a step (rkl2, implicit) or from the limit (steady) [K]"
    )


class Compute(Part):
    """Where and in which precision the run is computed."""

    device: Literal["auto", "cpu", "cuda"] = Field("auto", description="Device; auto = a GPU if there is one")
    precision: Literal["float32", "float64"] = Field("float32", description="Number format of the state")
    kernel: Literal["auto", "basic", "shared", "coarsened", "register", "temporal", "cpu"] = Field(
        "auto", description="Stencil kernel; auto = the fastest that applies"
    )
