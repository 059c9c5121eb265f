"""Whether a scenario in cylindrical coordinates is one: x is the radius r, y the angle phi in one cell around."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from heatsim.scenario.boundary import Boundary
from heatsim.scenario.findings import Finding
from heatsim.scenario.grid import Grid
from heatsim.scenario.output import Output
from heatsim.scenario.scanner import Key
from heatsim.scenario.shapes import Region, Shape
from heatsim.scenario.sources import Source


def cylindrical_faces_exist(grid: Grid, boundary: Boundary) -> Iterator[Finding]:
    """Around the axis there is no face, none on the axis, and none along r is periodic."""
    if grid.coordinates != "cylindrical":
        return
    for name in ("y_min", "y_max"):
        if getattr(boundary, name) is not None:
            yield Finding(("boundary", name), "expected no face along y in cylindrical coordinates: phi goes around")
    if grid.origin[0] == 0.0 and boundary.x_min is not None and boundary.x_min.kind != "insulated":
        yield Finding(("boundary", "x_min"), "expected no face at r = 0, the axis", "leave x_min out")
    for name in ("default", "x_min", "x_max"):
        face = getattr(boundary, name)
        if face is not None and face.kind == "periodic":
            yield Finding(("boundary", name), "expected a face that is not periodic along the radius")


def shapes_suit_cylindrical_coordinates(
    grid: Grid, regions: Sequence[Region], sources: Sequence[Source], output: Output
) -> Iterator[Finding]:
    """Round shapes and beams are meant in x, y, z."""
    if grid.coordinates != "cylindrical":
        return
    shapes: list[tuple[Key, Shape]] = [(("regions", i), region) for i, region in enumerate(regions)]
    shapes += [(("sources", i, "region"), source.region) for i, source in enumerate(sources) if source.region]
    shapes += [(("output", "regions", i), region) for i, region in enumerate(output.regions)]
    for key, shape in shapes:
        for form in shape.forms:
            if form in ("sphere", "cylinder", "stl"):
                message = f"expected box, where or labels in cylindrical coordinates, found {form}"
                yield Finding((*key, form), message, "box and where are in r, phi, z")
    for i, source in enumerate(sources):
        if source.beam is not None:
            yield Finding(("sources", i, "beam"), "expected Cartesian coordinates for a beam, found cylindrical ones")
