"""Whether filters suit the fields that they are to pass over: smoothing passes, and the search for hot spots."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from heatsim.scenario.grid import Grid
from heatsim.scenario.language.toml.messages import quote
from heatsim.scenario.language.toml.positions import KeyIssue
from heatsim.scenario.materials import Ambient
from heatsim.scenario.output import Hotspots, Output
from heatsim.scenario.smoothing import MAX_MASK_WIDTH, Smoothing
from heatsim.scenario.sources import Source
from heatsim.scenario.time_and_compute import Compute

MAX_SIGMA_CELLS = 64.0  # cells: hundreds of passes of the widest mask
MIN_SIGMA_CELLS = 1 / 3  # cells: what is narrower hardly reaches the next cell
MIN_SCALE_CELLS = 0.5  # cells: what is smaller cannot be told from the noise of a cell
BOX_WIDTH = 12**0.5  # of a box whose standard deviation is 1


class _Line(NamedTuple):
    """The cells of a field along an axis."""

    axis: str
    cells: int
    size: float  # m

    @property
    def spacing(self) -> float:
        return self.size / self.cells


def smoothing_has_something_to_smooth(
    sources: Sequence[Source], output: Output, smoothing: Sequence[Smoothing]
) -> Iterator[KeyIssue]:
    """A pass over nothing is a mistake."""
    there = {"initial": True, "sources": bool(sources), "slices": bool(output.slices)}
    for i, smooth in enumerate(smoothing):
        if not there[smooth.target]:
            table = "[[sources]]" if smooth.target == "sources" else "[[output.slices]]"
            yield KeyIssue(("smoothing", i, "target"), f"expected {table} to smooth, found none")


def smoothing_has_no_beam_to_smooth(sources: Sequence[Source], smoothing: Sequence[Smoothing]) -> Iterator[KeyIssue]:
    """Beams come cell by cell where they are, a smoothed source as a whole field."""
    for i, smooth in enumerate(smoothing):
        if smooth.target == "sources" and any(source.beam is not None for source in sources):
            message = "expected sources without a beam to smooth, found a beam"
            yield KeyIssue(("smoothing", i, "target"), message, "a beam is smooth already: give it a larger radius")


def smoothing_has_no_ambients_to_heat(
    ambients: Mapping[str, Ambient], smoothing: Sequence[Smoothing]
) -> Iterator[KeyIssue]:
    """Smoothed sources would carry heat into cells that are not solved."""
    for i, smooth in enumerate(smoothing):
        if smooth.target == "sources" and ambients:
            message = "expected no ambients where sources are smoothed: heat would be carried into them"
            yield KeyIssue(("smoothing", i, "target"), message)


def smoothing_has_equal_cells(grid: Grid, smoothing: Sequence[Smoothing]) -> Iterator[KeyIssue]:
    """A mask has one weight for each distance in cells, whatever their size."""
    unequal = grid.unequal
    found = f"unequal cells along {' and '.join(unequal)}" if unequal else f"{grid.coordinates} coordinates"
    if unequal or grid.coordinates != "cartesian":
        for i in range(len(smoothing)):
            yield KeyIssue(("smoothing", i), f"expected equal cells in Cartesian coordinates to smooth, found {found}")


def hot_spots_have_equal_cells(grid: Grid, output: Output, hotspots: Hotspots | None) -> Iterator[KeyIssue]:
    """Scales of spots are counted in cells, so those of a slice have to be equal in its plane."""
    for i, cut in enumerate(output.slices if hotspots else ()):
        plane = _plane(grid, cut.axis)
        unequal = [line.axis for line in plane if line.axis in grid.unequal]
        if len(plane) == 2 and unequal:
            found = f"unequal cells along {' and '.join(sorted(unequal))}"
            message = f"expected equal cells in the plane of a slice to search for hot spots, found {found}"
            yield KeyIssue(("output", "slices", i, "axis"), message)


def smoothing_has_a_device_for_its_kernel(compute: Compute, smoothing: Sequence[Smoothing]) -> Iterator[KeyIssue]:
    """A kernel runs on one device, and `compute.device` may be another."""
    for i, smooth in enumerate(smoothing):
        device = "cpu" if smooth.kernel == "cpu" else "cuda"
        if smooth.kernel != "auto" and compute.device not in ("auto", device):
            message = f'{quote(smooth.kernel)} runs on device "{device}", found device "{compute.device}"'
            yield KeyIssue(("smoothing", i, "kernel"), message, 'kernel = "auto" fits any device')


def filters_fit_their_fields(grid: Grid, output: Output, smoothing: Sequence[Smoothing]) -> Iterator[KeyIssue]:
    """A mask lies in its field, and a named filter is no wider than its field and the passes that it takes."""
    for i, smooth in enumerate(smoothing):
        for lines in _fields(grid, output, smooth):
            if smooth.mask is not None:
                finding = _mask_misfit(len(smooth.mask), len(smooth.mask[0]), lines)
            else:
                finding = _sigma_misfit(smooth.filter or "", smooth.sigma or 0.0, lines)
            if finding is not None:
                key, message, hint = finding
                yield KeyIssue(("smoothing", i, *key), message, hint)
                break


def narrow_filters(grid: Grid, output: Output, smoothing: Sequence[Smoothing]) -> Iterator[KeyIssue]:
    """Filters that are allowed and do next to nothing."""
    for i, smooth in enumerate(smoothing):
        lines = {line for field in _fields(grid, output, smooth) for line in field}
        narrow = sorted(line for line in lines if smooth.sigma and smooth.sigma < MIN_SIGMA_CELLS * line.spacing)
        if smooth.sigma and narrow:
            axes = ", ".join(f"{smooth.sigma / line.spacing:.2g} of a cell along {line.axis}" for line in narrow)
            message = f"{smooth.sigma:g} m is {axes}, below a third: it hardly reaches the next cell"
            yield KeyIssue(("smoothing", i, "sigma"), message)


def hot_spots_have_slices_that_show_them(grid: Grid, output: Output, hotspots: Hotspots | None) -> Iterator[KeyIssue]:
    """Spots are searched for in slices that are planes, at scales which their cells show."""
    if hotspots is None:
        return
    planes = [lines for cut in output.slices if len(lines := _plane(grid, cut.axis)) == 2]
    if not planes:
        found = "only slices one cell wide" if output.slices else "no slices"
        yield KeyIssue(("hotspots",), f"expected [[output.slices]] to search, found {found}")
        return
    coarsest = max(line.spacing for lines in planes for line in lines)
    shortest = min(line.size for lines in planes for line in lines)
    for i, scale in enumerate(hotspots.scales):
        if not MIN_SCALE_CELLS * coarsest <= scale <= shortest:
            found = f"expected a scale from half a cell, {MIN_SCALE_CELLS * coarsest:.4g} m, to the width of the slice"
            yield KeyIssue(("hotspots", "scales", i), f"{found}, {shortest:.4g} m, found {scale:g}")


def _mask_misfit(rows: int, columns: int, lines: Sequence[_Line]) -> KeyIssue | None:
    """A mask lies in the last two axes of a field, its rows along the last."""
    if len(lines) == 1 and rows > 1:
        return KeyIssue(("mask",), f"expected one row for a line along {lines[0].axis}, found {rows}")
    for width, line in zip((columns, rows), lines[::-1], strict=False):
        if width > line.cells:
            message = f"expected at most the {line.cells} cells of the field along {line.axis}, found {width}"
            return KeyIssue(("mask",), message)
    return None


def _sigma_misfit(name: str, sigma: float, lines: Sequence[_Line]) -> KeyIssue | None:
    longest = max((line.size for line in lines), default=sigma)
    if sigma > longest:
        return KeyIssue(("sigma",), f"expected at most the longest side of the field, {longest:g} m, found {sigma:g}")
    most = MAX_MASK_WIDTH / BOX_WIDTH if name == "box" else MAX_SIGMA_CELLS
    for line in lines:
        if sigma > most * line.spacing:
            limit = f"{most:.3g} cells along {line.axis}, {most * line.spacing:.4g} m"
            hint = "a gaussian may be wider" if name == "box" else ""
            return KeyIssue(("sigma",), f"expected at most {limit}, found {sigma:g}", hint)
    return None


def _fields(grid: Grid, output: Output, smooth: Smoothing) -> list[tuple[_Line, ...]]:
    """The fields that a pass meets, each by its axes of more than one cell, in the order of arrays."""
    if smooth.target == "slices":
        return [_plane(grid, cut.axis) for cut in output.slices]
    return [_plane(grid, "")]


def _plane(grid: Grid, normal: str) -> tuple[_Line, ...]:
    lines = (_Line(*each) for each in zip("zyx", grid.cells[::-1], grid.size[::-1], strict=True))
    return tuple(line for line in lines if line.cells > 1 and line.axis != normal)
