"""What happens on the six faces of the box: the kinds of boundary condition as one table of the file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Literal, Union, get_args

from pydantic import Discriminator, Field, Tag

from heatsim.scenario.faces.condition import FaceCondition
from heatsim.scenario.faces.convection import Convection
from heatsim.scenario.faces.fixed import Fixed
from heatsim.scenario.faces.flux import Flux
from heatsim.scenario.faces.insulated import Insulated
from heatsim.scenario.faces.periodic import Periodic
from heatsim.scenario.faces.radiation import Radiation
from heatsim.scenario.language.base_model import ScenarioBlock, kind_tag
from heatsim.scenario.language.toml.positions import Key

FaceName = Literal["x_min", "x_max", "y_min", "y_max", "z_min", "z_max"]
FACES: tuple[FaceName, ...] = ("x_min", "x_max", "y_min", "y_max", "z_min", "z_max")

KINDS: tuple[type[FaceCondition], ...] = (
    Insulated,
    Fixed,
    Flux,
    Convection,
    Periodic,
    Radiation,
)  # in the order of messages and of the schema


def kind_name(kind: type[FaceCondition]) -> str:
    """The word by which the file names a kind of boundary condition."""
    return str(get_args(kind.model_fields["kind"].annotation)[0])


if TYPE_CHECKING:
    Face = FaceCondition
else:
    Face = Annotated[
        Union[tuple(Annotated[kind, Tag(f"<{kind_name(kind)}>")] for kind in KINDS)],  # noqa: UP007 (of a tuple)
        Discriminator(kind_tag),
    ]

for _kind in KINDS:
    _kind.model_rebuild(_types_namespace={"Face": Face})  # patches are faces too


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

    def faces(self) -> Iterator[tuple[Key, Face]]:
        """The default and the faces that are named, each with its key."""
        yield ("boundary", "default"), self.default
        yield from ((("boundary", name), face) for name in FACES if (face := getattr(self, name)) is not None)

    def conditions(self) -> Iterator[tuple[Key, Face]]:
        """The conditions on all faces and their patches, each with its key."""
        for key, face in self.faces():
            yield key, face
            yield from (((*key, "patches", i), patch) for i, patch in enumerate(face.patches))
