"""What all boundary conditions have, and the questions that each kind answers.

A kind has a file of its own beside this one. Its keys are pydantic fields; a key of `quantity` or `temperature` is an
input: a number or an expression in x, y, z, t, whose unit and range hold for the file and for every value computed from
it. `heatsim.scenario.boundary` lists the kinds; `heatsim.problem.terms.boundary_faces` evaluates their inputs on the
faces of a grid. A kind knows neither grid nor kernels.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import TYPE_CHECKING, Annotated, ClassVar, TypeAlias

import numpy as np
from pydantic import Field

from heatsim.scenario.language.base_model import ScenarioBlock
from heatsim.scenario.language.expressions.expression import Expression, Value, depends_on
from heatsim.scenario.language.value_types import TEMPERATURE, Number, ValueType, condition, temperature

if TYPE_CHECKING:
    Face: TypeAlias = "FaceCondition"  # at run time the union of all kinds, which heatsim.scenario.boundary makes

TemperatureInput = Annotated[float | Expression, temperature("xyzt")]

# Gives the values of an input by its name, (k, cells) at k times, checked; temperatures as offsets from the reference,
# strengths without their factor in T.
Inputs = Callable[[str], np.ndarray]
Terms = np.ndarray | float


class FaceCondition(ScenarioBlock):
    """What all kinds of face have."""

    PASSES_HEAT: ClassVar[bool] = True
    # The input to which the flux is proportional: it alone may depend on T, and where it is > 0 it ties the body to a
    # temperature.
    STRENGTH: ClassVar[str] = ""
    # The largest values of the surface terms that a strength gives, for what it may be between the sampled times.
    LARGEST_TERMS: ClassVar[dict[str, float]] = {"coefficient": inf, "emissivity": 1.0}
    GIVEN_FLUX: ClassVar[str] = ""  # the input that is a heat flux into the body whatever the body does, W/m2
    GIVEN_TEMPERATURE: ClassVar[str] = ""  # the input that is the temperature of the surface whatever the body does

    patches: tuple[Face, ...] = Field((), description="Parts of the face with a condition of their own")
    where: Annotated[Expression | None, condition()] = Field(
        None, description="Of a patch: a condition in x, y, z [m], true on it"
    )
    if TYPE_CHECKING:
        kind: str  # a Literal in each kind, which the file has to give

    def affine(self, values: Inputs, resistance: np.ndarray) -> tuple[Terms, Terms]:
        """a and b of `ghost = T + (a T + b)`, where the problem is linear; resistance: h/k of the cells, m2 K/W."""
        return 0.0, 0.0

    def surface_terms(self, values: Inputs) -> dict[str, Terms]:
        """The terms of the surface balance that are not 0, by their names in `heatsim_kernels.explicit.enthalpy`.

        Into a surface at T_s goes  flux + coefficient (ambient - T_s) + emissivity sigma (surroundings^4 - T_s^4),
        W/m2. An infinite coefficient holds the surface at the ambient's temperature.
        """
        return {}

    @property
    def temperature_dependent(self) -> bool:
        """Whether the flux is no affine function of the surface's temperature, so that the problem is not linear."""
        return self.STRENGTH != "" and depends_on(self.inputs[self.STRENGTH], "T")

    @property
    def is_given(self) -> bool:
        """Whether the flux or the temperature of the surface is given, or nothing passes: in Kirchhoff's potential the
        condition is affine then, whatever the conductivity does."""
        return bool(self.GIVEN_FLUX or self.GIVEN_TEMPERATURE) or not self.PASSES_HEAT

    def ties_temperature(self, values: Inputs) -> bool:
        """Whether the body settles at a given temperature, were this its only boundary condition."""
        return self.STRENGTH != "" and bool((values(self.STRENGTH) > 0).any())

    @classmethod
    def numbers(cls) -> dict[str, Number]:
        """The unit and range of each input, by its name; `TEMPERATURE` of those that are temperatures."""
        found = ((name, each) for name, field in cls.model_fields.items() for each in field.metadata)
        return {name: each.number for name, each in found if isinstance(each, ValueType) and each.number is not None}

    @property
    def inputs(self) -> dict[str, Value]:
        """The value of each input that is given, by its name."""
        return {name: self.__dict__[name] for name in self.numbers() if self.__dict__[name] is not None}

    @property
    def temperatures(self) -> dict[str, Value]:
        """The inputs that are temperatures, by their names."""
        return {name: value for name, value in self.inputs.items() if self.numbers()[name] is TEMPERATURE}
