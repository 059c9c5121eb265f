"""Faces with convection to an ambient."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, PrivateAttr, ValidationInfo, model_validator

from heatsim.scenario.faces.condition import FaceCondition, Inputs, TemperatureInput, Terms
from heatsim.scenario.language.expressions.expression import Expression, ExpressionError, Value, depends_on
from heatsim.scenario.language.toml.messages import validation_error_at
from heatsim.scenario.language.value_types import Number, ValidationContext, quantity

STEFAN_BOLTZMANN = (
    5.670374419e-8  # W/(m2 K4), that of `heatsim_kernels.explicit.enthalpy.surface_balance`, which is not light
)


class Convection(FaceCondition):
    """Heat passes to an ambient in proportion to the difference in temperature.

    With an emissivity the surface also radiates to black surroundings at the temperature of the ambient. Beside a
    coefficient in T, which is one in T alone then, emissivity and ambient are numbers.

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

    _zero: float = PrivateAttr(0.0)  # absolute zero in the unit of the file

    @model_validator(mode="after")
    def _follows_temperature_as_a_whole(self, info: ValidationInfo) -> Self:
        if isinstance(info.context, ValidationContext):
            self._zero = info.context.quantity.zero
        if self.emissivity is None or not depends_on(self.coefficient, "T"):
            return self
        message = "expected a coefficient in T alone beside an emissivity, with numbers for emissivity and ambient"
        remedy = "leave emissivity out and add emissivity*5.67e-8*(T**2 + Ta**2)*(T + Ta) to it, in kelvin"
        given = {"emissivity": self.emissivity, "ambient": self.ambient}
        mixed = [name for name, value in given.items() if not isinstance(value, (int, float))]
        if depends_on(self.coefficient, "xyzt") or mixed:
            found = f"{mixed[0]} that is none" if mixed else "one in x, y, z or t, too"
            raise validation_error_at(("coefficient",), f"{message}, found {found}", remedy)
        try:
            self._with_radiation()
        except ExpressionError:
            raise validation_error_at(("coefficient",), "expected a shorter expression beside an emissivity") from None
        return self

    def _with_radiation(self) -> Expression:
        """The coefficient with that of radiation, eps sigma (T^4 - Ta^4)/(T - Ta); as it is where it is negative, which
        is refused."""
        zero, ambient = self._zero, float(self.ambient) - self._zero  # type: ignore[arg-type]
        radiating = f"{float(self.emissivity) * STEFAN_BOLTZMANN!r}*((T - ({zero!r}))**2 + {ambient**2!r})"  # type: ignore[arg-type]
        own = self.coefficient.text if isinstance(self.coefficient, Expression) else str(self.coefficient)
        text = f"({own}) + {radiating}*(T + ({ambient - zero!r}))*(({own}) >= 0)"
        return Expression.parse(text, frozenset("T"))

    @property
    def inputs(self) -> dict[str, Value]:
        """The value of each input that is given; beside a coefficient in T, radiation is a part of it."""
        found = super().inputs
        if self.emissivity is not None and depends_on(self.coefficient, "T"):
            del found["emissivity"]
            found["coefficient"] = self._with_radiation()
        return found

    @property
    def temperature_dependent(self) -> bool:
        """Whether the coefficient depends on T, or the surface radiates."""
        return self.emissivity is not None or super().temperature_dependent

    def ties_temperature(self, values: Inputs) -> bool:
        """Where there is a coefficient or an emissivity."""
        radiates = "emissivity" in self.inputs and bool((values("emissivity") > 0).any())
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
        """The coefficient without its factor in T, an emissivity that is apart, the temperature of the ambient."""
        ambient = values("ambient")
        terms: dict[str, Terms] = {"coefficient": values("coefficient"), "ambient": ambient}
        if "emissivity" in self.inputs:
            terms |= {"emissivity": values("emissivity"), "surroundings": ambient}
        return terms
