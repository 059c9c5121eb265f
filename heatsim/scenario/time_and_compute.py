"""How the run is computed: the time span, the integrator, the device."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from heatsim_kernels.explicit import CUDA_STEPPERS
from pydantic import ConfigDict, Field, model_validator

from heatsim.base.methods import METHODS, Method
from heatsim.scenario.language.base_model import ScenarioBlock
from heatsim.scenario.language.toml.messages import quote, validation_error_at
from heatsim.scenario.language.value_types import Number, quantity

SECONDS = Number("s", above=0)
TOLERANCE = Number("a share of the range of temperatures", least=1e-10, most=0.1)
MIN_TOLERANCE_BACKWARD_EULER = 1e-5

if TYPE_CHECKING:
    KernelName = str
    IntegratorName = str
else:
    KernelName = Literal[("auto", *CUDA_STEPPERS, "cpu")]
    IntegratorName = Literal[("auto", *METHODS)]

ENDLESS = tuple(name for name, each in METHODS.items() if each.to_limit)


def _end_is_optional_for_steady(schema: dict[str, Any]) -> None:
    names = {"const": ENDLESS[0]} if len(ENDLESS) == 1 else {"enum": list(ENDLESS)}
    steady = {"properties": {"integrator": names}, "required": ["integrator"]}
    schema["anyOf"] = [{"required": schema.pop("required")}, steady]


class Time(ScenarioBlock):
    """The time span and the way through it. The steady state has no end and needs none."""

    model_config = ConfigDict(json_schema_extra=_end_is_optional_for_steady)

    end: Annotated[float, quantity(SECONDS)] = Field(description="End of the run, which starts at 0 [s]")
    step: Annotated[Literal["auto"] | float, quantity(SECONDS, words=("auto",))] = Field(
        "auto",
        description='Largest time step [s], or "auto": as large as stability (euler) or tolerance allows',
    )
    integrator: IntegratorName = Field(
        "auto",
        description="Method in time: the fastest that is as accurate as tolerance (auto), explicit Euler, super time "
        "stepping, implicit, or to the steady state (no end)",
    )
    tolerance: Annotated[float | None, quantity(TOLERANCE)] = Field(
        None,
        description="Error allowed, as a share of the range of temperatures and not in K: 1e-3 is 0.1 K where cells "
        "are between 300 and 400 K. In time (auto, rkl2, implicit: 1e-3 if left out), from the limit (steady: 1e-6 if "
        "left out) [1]",
    )

    method: Literal["tr-bdf2", "backward-euler"] = Field(
        "tr-bdf2",
        description="Method of implicit steps: TR-BDF2, of second order, or backward Euler, of first, which takes many "
        "more for a tolerance, of 1e-5 at least",
    )

    periodic: Annotated[float | None, quantity(SECONDS)] = Field(
        None,
        description="Period of all inputs: the run starts from the state that repeats with it, to tolerance, and "
        "initial is where the search for it begins; at most end [s]",
    )

    @property
    def chosen(self) -> Method | None:
        """The method named, or None where "auto" leaves it open."""
        return METHODS.get(self.integrator)

    @property
    def is_steady(self) -> bool:
        """Whether the run finds the steady state, and has no end."""
        return self.chosen is not None and self.chosen.to_limit

    @property
    def last_time(self) -> float:
        """The time of the state with which the run ends, s: infinite of the steady state."""
        return inf if self.is_steady else self.end

    @property
    def solves(self) -> bool:
        """Whether the integrator solves linear systems."""
        return self.chosen is not None and self.chosen.solves

    @property
    def has_equal_steps(self) -> bool:
        """Whether an integrator with error control is to take equal steps: of a step given without a tolerance."""
        return isinstance(self.step, float) and self.tolerance is None

    @model_validator(mode="after")
    def _backward_euler_is_implicit(self) -> Self:
        if self.method == "backward-euler" and (self.chosen is None or self.method not in self.chosen.schemes):
            message = f'expected integrator = "implicit" with "backward-euler", found {quote(self.integrator)}'
            raise validation_error_at(("method",), message)
        if (
            self.method == "backward-euler"
            and self.tolerance is not None
            and self.tolerance < MIN_TOLERANCE_BACKWARD_EULER
        ):
            message = (
                f'expected at least {MIN_TOLERANCE_BACKWARD_EULER:g} with "backward-euler", found {self.tolerance:g}'
            )
            raise validation_error_at(
                ("tolerance",), message, 'its steps are as many as 1/tolerance; those of "tr-bdf2" far fewer'
            )
        return self

    @model_validator(mode="after")
    def _a_period_is_within_the_run(self) -> Self:
        if self.periodic is not None and self.is_steady:
            raise validation_error_at(("periodic",), 'expected no period with integrator = "steady", which has no time')
        if self.periodic is not None and self.periodic > self.end * (1 + 1e-12):
            message = f"expected at most end = {self.end:g} s, found {self.periodic:g}"
            raise validation_error_at(("periodic",), message, "inputs are not asked for after the end")
        return self

    @model_validator(mode="before")
    @classmethod
    def _steady_needs_no_end(cls, data: Any) -> Any:
        match data:
            case {"integrator": name} if "end" not in data and name in ENDLESS:
                return {**data, "end": 1.0}
        return data


class Compute(ScenarioBlock):
    """Where and in which precision the run is computed."""

    device: Literal["auto", "cpu", "cuda"] = Field("auto", description="Device; auto = a GPU if there is one")
    precision: Literal["float32", "float64"] = Field(
        "float32",
        description="Number format of the state and of results; float64 where many short steps add up small changes: "
        "see precision in docs/guide/time.md",
    )
    kernel: KernelName = Field("auto", description="Stencil kernel; auto = the fastest that applies")
