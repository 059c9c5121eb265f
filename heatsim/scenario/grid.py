"""The box and its cells."""

from __future__ import annotations

from math import prod
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from heatsim.scenario.part import Part
from heatsim.scenario.values import Number, numbers, quantity
from heatsim.scenario.wording import flaw

MOST_CELLS = 2**36  # 256 GiB a float32 state; more is a typing error

Corner = tuple[float, float, float]
LENGTH = Number("m", above=0)


class Layer(Part):
    """A stretch of an axis that is cut into equal cells."""

    thickness: Annotated[float, quantity(LENGTH)] = Field(description="Thickness of the layer [m]")
    cells: Annotated[int, quantity(Number("1", least=1, most=MOST_CELLS, whole=True))] = Field(
        description="Number of equal cells in the layer [1]"
    )


class Axis(Part):
    """Cells of unequal size along one axis, from layers or from edges."""

    layers: tuple[Layer, ...] | None = Field(None, description="Layers from the lower end up")
    edges: Annotated[tuple[float, ...] | None, numbers(Number("m"), least=2, increasing=True)] = Field(
        None, description="Places of the cell faces, increasing [m]"
    )

    @model_validator(mode="after")
    def _has_one_form(self) -> Self:
        if (self.layers is None) == (self.edges is None):
            raise flaw("expected one of layers and edges")
        return self


class Grid(Part):
    """The box that is computed and how it is cut into cells."""

    coordinates: Literal["cartesian", "cylindrical"] = Field(
        "cartesian", description="Coordinates: cartesian x, y, z or cylindrical r, phi, z"
    )
    cells: Annotated[tuple[int, int, int], numbers(Number("1", least=1, most=MOST_CELLS, whole=True), length=3)] = (
        Field(description="Number of cells along x, y and z [1]; 1 = that axis is not resolved")
    )
    size: Annotated[Corner, numbers(LENGTH, length=3)] = Field(description="Size of the box along x, y, z [m]")
    origin: Annotated[Corner, numbers(Number("m"), length=3)] = Field(
        (0.0, 0.0, 0.0), description="Lower corner of the box [m]"
    )
    x: Axis | None = Field(None, description="Unequal cells along x")
    y: Axis | None = Field(None, description="Unequal cells along y")
    z: Axis | None = Field(None, description="Unequal cells along z")

    @model_validator(mode="after")
    def _is_of_sane_size(self) -> Self:
        if prod(self.cells) > MOST_CELLS:
            raise flaw(f"expected at most 2**36 = {MOST_CELLS} cells in all, found {prod(self.cells)}")
        return self

    @property
    def upper(self) -> Corner:
        """Upper corner of the box [m]."""
        x, y, z = (origin + size for origin, size in zip(self.origin, self.size, strict=True))
        return x, y, z
