"""What happens on the six faces of the box."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Discriminator, Field, Tag

from heatsim.scenario.base_model import ScenarioBlock, kind_tag
from heatsim.scenario.expressions.expression import Expression
from heatsim.scenario.value_types import Number, condition, quantity, temperature

FaceName = Literal["x_min", "x_max", "y_min", "y_max", "z_min", "z_max"]
FACES: tuple[FaceName, ...] = ("x_min", "x_max", "y_min", "y_max", "z_min", "z_max")

Temperature = Annotated[float | Expression, temperature("xyzt")]


class FaceCondition(ScenarioBlock):
    """What all kinds of face have."""

    patches: tuple[Face, ...] = Field((), description="Parts of the face with a condition of their own")
    where: Annotated[Expression | None, condition()] = Field(
        None, description="Of a patch: a condition in x, y, z [m], true on it"
    )


class Insulated(FaceCondition):
    """No heat passes."""

    kind: Literal["insulated"] = Field("insulated", description="Kind of the face")


class Fixed(FaceCondition):
    """The surface has a given temperature."""

    kind: Literal["fixed"] = Field(description="Kind of the face")
    temperature: Temperature = Field(description="Surface temperature, or an expression in x, y, z, t [K or degC]")


class Flux(FaceCondition):
    """A given heat flux enters the body."""

    kind: Literal["flux"] = Field(description="Kind of the face")
    flux: Annotated[float | Expression, quantity(Number("W/m2"), "xyzt")] = Field(
        description="Heat flux into the body, or an expression in x, y, z, t [W/m2]"
    )


class Convection(FaceCondition):
    """Heat passes to an ambient in proportion to the difference in temperature.

    A coefficient in T is found anew in every step, and explicit steps of the whole box take several times as long: see
    docs/guide/materials.md.
    """

    kind: Literal["convection"] = Field(description="Kind of the face")
    coefficient: Annotated[float | Expression, quantity(Number("W/(m2 K)", least=0), "xyztT")] = Field(
        description="Heat transfer coefficient, or an expression in x, y, z, t and T of the surface [W/(m2 K)]"
    )
    ambient: Temperature = Field(description="Ambient temperature, or an expression in x, y, z, t [K or degC]")


class Periodic(FaceCondition):
    """The face is joined to the opposite one."""

    kind: Literal["periodic"] = Field(description="Kind of the face")


class Radiation(FaceCondition):
    """Heat is radiated to black surroundings."""

    kind: Literal["radiation"] = Field(description="Kind of the face")
    emissivity: Annotated[float | Expression, quantity(Number("1", least=0, most=1), "xyztT")] = Field(
        description="Emissivity, or an expression in x, y, z, t and T of the surface [1]"
    )
    ambient: Temperature = Field(
        description="Temperature of the surroundings, or an expression in x, y, z, t [K or degC]"
    )


Face = Annotated[
    Annotated[Insulated, Tag("<insulated>")]
    | Annotated[Fixed, Tag("<fixed>")]
    | Annotated[Flux, Tag("<flux>")]
    | Annotated[Convection, Tag("<convection>")]
    | Annotated[Periodic, Tag("<periodic>")]
    | Annotated[Radiation, Tag("<radiation>")],
    Discriminator(kind_tag),
]

for _kind in (Insulated, Fixed, Flux, Convection, Periodic, Radiation):
    _kind.model_rebuild()  # now that Face is known


class Boundary(ScenarioBlock):
    """The six faces of the box; `default` holds for those not named.

    Heat that enters the body is positive. Values may be expressions in t and x, y, z: places are the centres of the
    cells' faces. In cylindrical coordinates x_min and x_max are the faces at the least and greatest radius; there is
    none along y, nor at x_min where this is the axis r = 0.
    """

    default: Face = Field(Insulated(), description="The faces that are not named")
    x_min: Face | None = Field(None, description="The face at the lower end of x")
    x_max: Face | None = Field(None, description="The face at the upper end of x")
    y_min: Face | None = Field(None, description="The face at the lower end of y")
    y_max: Face | None = Field(None, description="The face at the upper end of y")
    z_min: Face | None = Field(None, description="The face at the lower end of z")
    z_max: Face | None = Field(None, description="The face at the upper end of z")

    def face(self, name: FaceName) -> Face:
        """Return what holds on the face, the default where it is not named."""
        own: Face | None = getattr(self, name)
        return self.default if own is None else own
