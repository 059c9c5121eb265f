"""The box and its cells."""

from __future__ import annotations

from itertools import accumulate, pairwise
from math import pi, prod
from typing import Annotated, Any, Literal, Self

from pydantic import ConfigDict, Field, ValidationError, model_validator

from heatsim.scenario.language.base_model import ScenarioBlock, require_one_of
from heatsim.scenario.language.toml.messages import validation_error, validation_error_at
from heatsim.scenario.language.value_types import Number, numbers, quantity

MAX_CELLS = 2**36  # 256 GiB a float32 state; more is a typing error
SAME_LENGTH = 1e-9  # relative: sums of decimal fractions round

Corner = tuple[float, float, float]
LENGTH = Number("m", above=0)
TURN = {"layers": [{"thickness": 2 * pi, "cells": 1}]}  # y in cylindrical coordinates, if it is left out


class Layer(ScenarioBlock):
    """A stretch of an axis that is cut into equal cells."""

    thickness: Annotated[float, quantity(LENGTH)] = Field(description="Thickness of the layer [m]")
    cells: Annotated[int, quantity(Number("1", least=1, most=MAX_CELLS, whole=True))] = Field(
        description="Number of equal cells in the layer [1]"
    )


class Axis(ScenarioBlock):
    """Cells of unequal size along one axis, from layers or from edges."""

    layers: tuple[Layer, ...] | None = Field(
        None, description="Layers from the lower end up", json_schema_extra={"minItems": 1}
    )
    edges: Annotated[tuple[float, ...] | None, numbers(Number("m"), least=2, increasing=True)] = Field(
        None, description="Places of the cell faces, increasing [m]"
    )

    @model_validator(mode="after")
    def _has_one_form(self) -> Self:
        require_one_of(self, layers="", edges="m")
        if self.layers == ():
            raise validation_error("expected at least one layer, found none")
        return self

    @property
    def cells(self) -> int:
        """Number of cells."""
        return len(self.edges) - 1 if self.edges else sum(layer.cells for layer in self.layers or ())

    @property
    def size(self) -> float:
        """Length of the axis, m."""
        return self.edges[-1] - self.edges[0] if self.edges else sum(layer.thickness for layer in self.layers or ())

    @property
    def equal(self) -> bool:
        """Whether all cells have the same size, to rounding."""
        if self.layers is not None:
            sizes = [layer.thickness / layer.cells for layer in self.layers]
        else:
            sizes = [high - low for low, high in pairwise(self.edges or ())]
        return max(sizes) - min(sizes) <= SAME_LENGTH * max(sizes)

    def places(self, origin: float) -> tuple[float, ...]:
        """Places of the cell faces, m; layers begin at `origin`."""
        if self.edges is not None:
            return self.edges
        layers = self.layers or ()
        bottoms = accumulate((layer.thickness for layer in layers), initial=origin)
        inner = [
            bottom + layer.thickness * i / layer.cells
            for layer, bottom in zip(layers, bottoms, strict=False)
            for i in range(layer.cells)
        ]
        return (*inner, origin + self.size)


def _cells_may_follow_from_axes(schema: dict[str, Any]) -> None:
    cylindrical = {"properties": {"coordinates": {"const": "cylindrical"}}, "required": ["coordinates", "x", "z"]}
    schema["anyOf"] = [{"required": schema.pop("required")}, {"required": ["x", "y", "z"]}, cylindrical]


class Grid(ScenarioBlock):
    """The box that is computed and how it is cut into cells.

    Where all three axes have layers or edges, cells and size follow from these and may be left out; where they are
    given, they have to agree. The origin follows from edges if it is left out. In cylindrical coordinates y, the angle,
    needs no layers: it is one cell, the whole turn.
    """

    model_config = ConfigDict(json_schema_extra=_cells_may_follow_from_axes)

    coordinates: Literal["cartesian", "cylindrical"] = Field(
        "cartesian",
        description="Coordinates: Cartesian x, y, z; or cylindrical, where x is the radius r, y the angle phi, in one "
        "cell around, and z the height; shapes are then boxes, conditions and labels, and there are no beams",
    )
    cells: Annotated[tuple[int, int, int], numbers(Number("1", least=1, most=MAX_CELLS, whole=True), length=3)] = Field(
        description="Number of cells along x, y and z [1]; 1 = that axis is not resolved"
    )
    size: Annotated[Corner, numbers(LENGTH, length=3)] = Field(
        description="Size of the box along x, y, z [m]; along phi the whole turn, 6.283185 [rad]"
    )
    origin: Annotated[Corner, numbers(Number("m"), length=3)] = Field(
        (0.0, 0.0, 0.0), description="Lower corner of the box [m]; follows from edges"
    )
    x: Axis | None = Field(None, description="Unequal cells along x")
    y: Axis | None = Field(None, description="Unequal cells along y; in cylindrical coordinates left out, or one cell")
    z: Axis | None = Field(None, description="Unequal cells along z")

    @model_validator(mode="before")
    @classmethod
    def _derive_from_axes(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        around = {"y": TURN} if data.get("coordinates") == "cylindrical" else {}
        given = around | data
        axes = [_axis_or_none(given.get(name)) for name in "xyz"]
        derived: dict[str, Any] = {}
        if all(name in given for name in "xyz"):  # 1 stands for what cannot be known, where an axis is wrong
            derived = {
                "cells": [axis.cells if axis else 1 for axis in axes],
                "size": [axis.size if axis else 1.0 for axis in axes],
            }
        if any(axis and axis.edges for axis in axes):
            derived["origin"] = [axis.edges[0] if axis and axis.edges else 0.0 for axis in axes]
        return derived | data

    @model_validator(mode="after")
    def _is_of_sane_size(self) -> Self:
        if prod(self.cells) > MAX_CELLS:
            message = f"expected at most 2**36 = {MAX_CELLS} cells in all, found {prod(self.cells)}"
            raise validation_error_at(("cells",), message)
        return self

    @model_validator(mode="after")
    def _agrees_with_its_axes(self) -> Self:
        for i, name in enumerate("xyz"):
            axis: Axis | None = getattr(self, name)
            if axis is None:
                continue
            place = (name, "edges" if axis.edges else "layers")
            hint = "cells, size and origin may be left out where all axes have layers or edges"
            if axis.cells != self.cells[i]:
                message = f"expected {self.cells[i]} cells, as grid.cells has along {name}, found {axis.cells}"
                raise validation_error_at(place, message, hint)
            if abs(axis.size - self.size[i]) > SAME_LENGTH * self.size[i]:
                message = (
                    f"expected {self.size[i]:.9g} (m) in all, as grid.size has along {name}, found {axis.size:.9g}"
                )
                raise validation_error_at(place, message, hint)
            if axis.edges and abs(axis.edges[0] - self.origin[i]) > SAME_LENGTH * self.size[i]:
                origin = f"{self.origin[i]:.9g} (m) first, as grid.origin has along {name}"
                raise validation_error_at(place, f"expected {origin}, found {axis.edges[0]:.9g}", hint)
        return self

    @model_validator(mode="after")
    def _goes_around_once(self) -> Self:
        if self.coordinates == "cartesian":
            return self
        of_y = ("y", "edges" if self.y.edges else "layers") if self.y else None
        if self.cells[1] != 1:
            message = f"expected one cell around the axis, found {self.cells[1]} along y"
            raise validation_error_at(of_y or ("cells", 1), message, "y is the angle phi")
        if abs(self.size[1] - 2 * pi) > 1e-5:
            message = f"expected 6.283185 (rad) along y, the whole turn, found {self.size[1]:g}"
            raise validation_error_at(of_y or ("size", 1), message, "y is the angle phi")
        if self.origin[0] < 0:
            place = ("x", "edges", 0) if self.x and self.x.edges else ("origin", 0)
            raise validation_error_at(place, f"expected a radius >= 0 (m), found {self.origin[0]:g}", "x is the radius")
        return self

    @property
    def upper(self) -> Corner:
        """Upper corner of the box [m]."""
        x, y, z = (origin + size for origin, size in zip(self.origin, self.size, strict=True))
        return x, y, z

    @property
    def unequal(self) -> tuple[str, ...]:
        """The axes along which cells differ in size."""
        axes = {"x": self.x, "y": self.y, "z": self.z}
        return tuple(name for name, axis in axes.items() if axis is not None and not axis.equal)

    @property
    def edges(self) -> tuple[tuple[float, ...] | None, ...]:
        """Of axes x, y, z, the places of the cell faces [m], or None where cells are equal."""
        axes = zip("xyz", (self.x, self.y, self.z), self.origin, strict=True)
        return tuple(axis.places(low) if axis and name in self.unequal else None for name, axis, low in axes)


def _axis_or_none(value: Any) -> Axis | None:
    """The axis that a table makes, None where there is none or it is wrong, which is reported elsewhere."""
    if isinstance(value, Axis):
        return value
    try:
        return Axis.model_validate(value)
    except ValidationError:
        return None
