"""Parts of the box: shapes, and the regions that paint materials into them."""

from __future__ import annotations

from math import dist, inf, sqrt
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from heatsim.scenario.grid import Corner
from heatsim.scenario.language.base_model import ScenarioBlock
from heatsim.scenario.language.expressions.expression import Expression
from heatsim.scenario.language.toml.messages import validation_error
from heatsim.scenario.language.value_types import (
    LABEL,
    MATERIAL,
    Number,
    condition,
    file_name,
    numbers,
    point_pairs,
    quantity,
    temperature,
)

Point = Annotated[Corner, numbers(Number("m"), length=3)]
Radius = Annotated[float, quantity(Number("m", above=0))]
Bounds = tuple[Corner, Corner]

FORMS = ("box", "sphere", "cylinder", "polygon", "where", "labels", "labelled", "stl", "floorplan", "gds")


class Box(ScenarioBlock):
    """A box along the axes."""

    lower: Point = Field(description="Lower corner x, y, z [m]")
    upper: Point = Field(description="Upper corner x, y, z [m]")

    @model_validator(mode="after")
    def _has_volume(self) -> Self:
        for axis, low, high in zip("xyz", self.lower, self.upper, strict=True):
            if not low < high:
                raise validation_error(f"expected lower < upper along {axis} (m), found {low:g} and {high:g}")
        return self

    def bounds(self) -> Bounds:
        """Return the lower and upper corner of the box [m]."""
        return self.lower, self.upper


class Sphere(ScenarioBlock):
    """A ball."""

    center: Point = Field(description="Centre x, y, z [m]")
    radius: Radius = Field(description="Radius [m]")

    def bounds(self) -> Bounds:
        """Return the lower and upper corner of the box around the ball [m]."""
        return _around(self.center, self.center, (self.radius,) * 3)


class Cylinder(ScenarioBlock):
    """A cylinder with flat ends, along any direction."""

    start: Point = Field(description="Centre of one end x, y, z [m]")
    end: Point = Field(description="Centre of the other end x, y, z [m]")
    radius: Radius = Field(description="Radius [m]")

    @model_validator(mode="after")
    def _has_length(self) -> Self:
        if self.start == self.end:
            raise validation_error("expected start and end to differ (m), found the same point")
        return self

    def bounds(self) -> Bounds:
        """Return the lower and upper corner of the box around the cylinder [m]."""
        length = dist(self.start, self.end)
        # a disc of radius r normal to the unit vector d reaches r sqrt(1 - d_i^2) along axis i
        along = ((b - a) / length for a, b in zip(self.start, self.end, strict=True))
        x, y, z = (self.radius * sqrt(max(0.0, 1 - d * d)) for d in along)
        return _around(self.start, self.end, (x, y, z))


class Polygon(ScenarioBlock):
    """A plane polygon that is drawn out along an axis.

    What its outline encloses an odd number of times is inside.
    """

    axis: Literal["x", "y", "z"] = Field(description="The axis along which the polygon is drawn out")
    points: Annotated[tuple[tuple[float, float], ...], point_pairs(Number("m"), least=3)] = Field(
        description="Corners in their order, by their places along the other two axes, as [x, y] for the axis z [m]"
    )
    start: Annotated[float | None, quantity(Number("m"))] = Field(
        None, alias="from", description="Where it begins along the axis; at the end of the grid, if left out [m]"
    )
    end: Annotated[float | None, quantity(Number("m"))] = Field(
        None, alias="to", description="Where it ends along the axis; at the end of the grid, if left out [m]"
    )

    @model_validator(mode="after")
    def _has_volume(self) -> Self:
        low, high = self.span
        if not low < high:
            raise validation_error(f"expected from < to (m), found {low:g} and {high:g}")
        if self.area == 0.0:
            raise validation_error("expected points that enclose an area, found points on a line")
        return self

    @property
    def span(self) -> tuple[float, float]:
        """Where the polygon begins and ends along its axis [m]; infinite where the file does not say."""
        return (-inf if self.start is None else self.start), (inf if self.end is None else self.end)

    @property
    def across(self) -> tuple[int, int]:
        """The numbers of the two axes of the points."""
        a, b = (number for number, axis in enumerate("xyz") if axis != self.axis)
        return a, b

    @property
    def edges(self) -> tuple[tuple[tuple[float, float], tuple[float, float]], ...]:
        """Its edges, by their ends [m]."""
        return tuple(zip(self.points, (*self.points[1:], self.points[0]), strict=True))

    @property
    def area(self) -> float:
        """The area that the outline encloses, of one that does not cross itself [m2]."""
        return 0.5 * abs(sum(a * d - b * c for (a, b), (c, d) in self.edges))

    def bounds(self) -> Bounds:
        """Return the lower and upper corner of the box around it [m]."""
        low, high = [self.span[0]] * 3, [self.span[1]] * 3
        for number, places in zip(self.across, zip(*self.points, strict=True), strict=True):
            low[number], high[number] = min(places), max(places)
        return (low[0], low[1], low[2]), (high[0], high[1], high[2])


def _around(a: Corner, b: Corner, reach: Corner) -> Bounds:
    lower = tuple(min(p, q) - r for p, q, r in zip(a, b, reach, strict=True))
    upper = tuple(max(p, q) + r for p, q, r in zip(a, b, reach, strict=True))
    return (lower[0], lower[1], lower[2]), (upper[0], upper[1], upper[2])


class ArrayFile(ScenarioBlock):
    """An array in a file, one value a cell, of shape (nz, ny, nx); axes of one cell may be left out.

    A PNG has its top row at the greatest y (or z); a TIFF is taken as it is stored, pages along z.
    """

    file: Annotated[Path, file_name("the name of a .npy, .npz, .h5, .png or .tif file")] = Field(
        description="File name, relative to the scenario file (.npy, .npz, .h5, .hdf5, .png, .tif)"
    )
    dataset: str | None = Field(None, description="Name of the dataset, for .npz and .h5 with more than one")


class Labels(ArrayFile):
    """Whole numbers, one a cell, and the material that each stands for."""

    map: dict[Annotated[int, LABEL], Annotated[str, MATERIAL]] = Field(
        min_length=1, description="The material of each label, such as { 0 = 'air', 1 = 'copper' }"
    )


class Labelled(ArrayFile):
    """The cells that have one of some labels in a file: one of several solids in it."""

    labels: Annotated[tuple[int, ...], numbers(Number("1", whole=True), most=1000)] = Field(
        description="The labels of the cells, whole numbers [1]"
    )


class ChipDrawing(ScenarioBlock):
    """A drawing of a chip from above, between two heights."""

    z: Annotated[tuple[float, float], numbers(Number("m"), length=2)] = Field(
        description="From where to where along z [m]"
    )
    at: Annotated[tuple[float, float], numbers(Number("m"), length=2)] = Field(
        (0.0, 0.0), description="x and y at which the drawing has its origin [m]"
    )

    @model_validator(mode="after")
    def _has_volume(self) -> Self:
        if not self.z[0] < self.z[1]:
            raise validation_error(f"expected two increasing heights z (m), found {self.z[0]:g} and {self.z[1]:g}")
        return self

    def reaches(self, z: float) -> bool:
        """Whether a plane normal to z lies between its heights [m]."""
        return self.z[0] <= z <= self.z[1]


class Floorplan(ChipDrawing):
    """The blocks of a chip's floorplan, or one of them, between two heights."""

    file: Annotated[Path, file_name("the name of a floorplan of HotSpot or 3D-ICE")] = Field(
        description="File name of a floorplan of HotSpot or 3D-ICE (.flp)"
    )
    unit: str | None = Field(None, description="Name of a block; all blocks, if left out")


class GdsLayer(ChipDrawing):
    """The polygons of a layer of a chip layout, drawn out along z."""

    file: Annotated[Path, file_name("the name of a layout in GDSII or OASIS")] = Field(
        description="File name of a layout (.gds, .oas)"
    )
    layer: Annotated[int, quantity(Number("1", least=0, whole=True))] = Field(description="Number of the layer [1]")
    datatype: Annotated[int | None, quantity(Number("1", least=0, whole=True))] = Field(
        None, description="Its datatype; all of them, if left out [1]"
    )
    cell: str | None = Field(None, description="Name of a cell of the layout; the one on top, if left out")


class Shape(ScenarioBlock):
    """A part of the box in one of several forms; none of them = everywhere.

    The cells in it are those whose centres are.
    """

    box: Box | None = Field(None, description="A box along the axes")
    sphere: Sphere | None = Field(None, description="A ball")
    cylinder: Cylinder | None = Field(None, description="A cylinder along any direction")
    polygon: Polygon | None = Field(None, description="A polygon drawn out along an axis")
    where: Annotated[Expression | None, condition()] = Field(
        None, description="A condition in x, y, z [m], true inside"
    )
    labels: Labels | None = Field(None, description="Labels that paint several materials at once")
    labelled: Labelled | None = Field(None, description="The cells with given labels in a file")
    stl: Annotated[Path | None, file_name("the name of an .stl file")] = Field(
        None, description="A closed surface from an STL file, in metres"
    )
    floorplan: Floorplan | None = Field(None, description="Blocks of a chip's floorplan")
    gds: GdsLayer | None = Field(None, description="A layer of a chip's layout, drawn out along z")

    @property
    def forms(self) -> tuple[str, ...]:
        """The names of the forms given: none or one in a valid scenario."""
        return tuple(name for name in FORMS if getattr(self, name) is not None)

    @model_validator(mode="after")
    def _has_one_form(self) -> Self:
        if len(self.forms) > 1:
            raise validation_error(f"expected one of {', '.join(FORMS)}, found {' and '.join(self.forms)}")
        return self

    def bounds(self) -> Bounds | None:
        """Return the corners of the box around the shape [m]; None if known from arrays only."""
        form = self.box or self.sphere or self.cylinder or self.polygon
        return form.bounds() if form else None


class Region(Shape):
    """A shape and the material or ambient that fills it; later regions are painted over earlier ones.

    A cell is painted whole if its centre is in the shape. At most one of the shapes is given; the first region has none
    and covers the box, or has labels.
    """

    material: Annotated[str | None, MATERIAL] = Field(
        None, description="Name of the material or ambient; left out with labels"
    )
    initial: Annotated[float | Expression | None, temperature("xyz")] = Field(
        None,
        description="Temperature at t = 0 of the cells that stay this region's, in place of that in [initial] "
        "[K or degC]",
    )

    @model_validator(mode="after")
    def _has_a_material(self) -> Self:
        if self.labels is None and self.material is None:
            raise validation_error("expected a material, found none")
        if self.labels is not None and self.material is not None:
            raise validation_error("expected labels or a material, found both", "labels name their materials in map")
        return self
