"""Checks across the sections of a scenario that need no arrays, and warnings about valid scenarios.

Checks run on the sections that are valid in themselves, so that one bad number does not hide what is wrong elsewhere.
Warnings are about probable mistakes in a valid scenario.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import isfinite
from typing import Any

from heatsim.errors import Issue
from heatsim.scenario.boundary import FACES, Boundary
from heatsim.scenario.checks.filters import (
    filters_fit_their_fields,
    hot_spots_have_equal_cells,
    hot_spots_have_slices_that_show_them,
    narrow_filters,
    smoothing_has_a_device_for_its_kernel,
    smoothing_has_equal_cells,
    smoothing_has_no_ambients_to_heat,
    smoothing_has_no_beam_to_smooth,
    smoothing_has_something_to_smooth,
)
from heatsim.scenario.checks.materials_and_faces import (
    contacts_are_between_materials,
    cooling_rates_have_a_temperature,
    cylindrical_faces_exist,
    find_crossing_temperature,
    initial_temperatures_are_of_what_is_solved,
    melted_fractions_have_something_to_melt,
    names_mean_one_thing,
    patches_are_parts_of_faces,
    quantities_do_not_melt,
    quantities_do_not_radiate,
    quantities_have_no_beams,
    shapes_suit_cylindrical_coordinates,
    shapes_with_keys,
    sources_are_in_what_is_solved,
    statistics_are_of_what_is_solved,
    steady_states_have_no_past,
    temperature_dependence_is_separable,
)
from heatsim.scenario.grid import Grid
from heatsim.scenario.language.toml.messages import did_you_mean, quote
from heatsim.scenario.language.toml.positions import KeyIssue
from heatsim.scenario.materials import Ambient, AnyMaterial, DiffusionMaterial, Void
from heatsim.scenario.model import Scenario
from heatsim.scenario.output import Output, Probe, Slice, Statistics
from heatsim.scenario.regions import Region
from heatsim.scenario.results import SIZES, STATISTICS, Result
from heatsim.scenario.schedules import MAX_TIMES, Schedule
from heatsim.scenario.sources import Source
from heatsim.scenario.stop import Stop
from heatsim.scenario.time_and_compute import Time

ROUNDING = 1e-9  # of the grid's size: a place on the upper face is inside
FAR = 50.0  # times as far from the origin as the grid


def run_checks(sections: dict[str, Any]) -> list[KeyIssue]:
    """Run every check whose sections are all there."""
    findings: list[KeyIssue] = []
    for check, needed in CHECKS:
        if all(name in sections for name in needed):
            findings += check(*(sections[name] for name in needed))
    return findings


def first_region_covers_the_grid(regions: Sequence[Region]) -> Iterator[KeyIssue]:
    """Later regions are painted over the first, so no cell is left without a material."""
    if not regions:
        yield KeyIssue(("regions",), "expected at least one region, found none")
    for form in regions[0].forms if regions and regions[0].labels is None else ():  # labels name every cell
        message = "expected the first region to cover the grid, found a shape"
        yield KeyIssue(("regions", 0, form), message, "begin with a region that has a material and no shape")


def shapes_meet_the_grid(
    grid: Grid, regions: Sequence[Region], sources: Sequence[Source], output: Output
) -> Iterator[KeyIssue]:
    """A shape wholly outside is a mistake in its numbers."""
    for key, shape in shapes_with_keys(regions, sources, output):
        bounds = shape.bounds()
        if bounds is None:
            continue
        faces = zip(*bounds, grid.origin, grid.upper, strict=True)
        if any(high <= first or low >= last for low, high, first, last in faces):
            message = f"lies outside the grid, which is {_extent(grid)}"
            yield KeyIssue((*key, shape.forms[0]), message, _in_mm(grid, *bounds[0], *bounds[1]))


def _extent(grid: Grid) -> str:
    axes = zip("xyz", grid.origin, grid.upper, strict=True)
    return ", ".join(f"{axis} from {low:.9g} to {high:.9g}" for axis, low, high in axes) + " (m)"


def records_are_inside(grid: Grid, output: Output) -> Iterator[KeyIssue]:
    """Slices cut the grid and probes lie in it."""
    message = f"lies outside the grid, which is {_extent(grid)}"
    for i, cut in enumerate(output.slices):
        if not _is_inside(grid, "xyz".index(cut.axis), cut.at):
            yield KeyIssue(("output", "slices", i, "at"), message, _in_mm(grid, cut.at))
    for i, probe in enumerate(output.probes):
        if not all(_is_inside(grid, axis, place) for axis, place in enumerate(probe.at)):
            yield KeyIssue(("output", "probes", i, "at"), message, _in_mm(grid, *probe.at))


def _in_mm(grid: Grid, *places: float) -> str:
    """A hint for places so far outside that they are probably not in metres."""
    reach = max(map(abs, (*grid.origin, *grid.upper)))
    return "in mm? lengths are in m" if max(abs(place) for place in places if isfinite(place)) > FAR * reach else ""


def _is_inside(grid: Grid, axis: int, place: float) -> bool:
    margin = ROUNDING * grid.size[axis]
    return grid.origin[axis] - margin <= place <= grid.upper[axis] + margin


def records_have_their_own_names(output: Output) -> Iterator[KeyIssue]:
    """Names become file and column names; some file systems do not tell upper from lower case."""
    kinds: dict[str, Sequence[Slice | Probe | Statistics | Result]] = {
        "slices": output.slices,
        "probes": output.probes,
        "regions": output.regions,
        "results": output.results,
    }
    for kind, records in kinds.items():
        seen: dict[str, int] = {}
        for i, record in enumerate(records):
            first = seen.setdefault(record.name.casefold(), i)
            if first != i:
                message = f"{quote(record.name)} is the name of output.{kind}.{first} too"
                yield KeyIssue(("output", kind, i, "name"), message, "give it another name")


def periodic_faces_come_in_pairs(boundary: Boundary) -> Iterator[KeyIssue]:
    """What leaves through one face enters through the opposite one."""
    for low, high in zip(FACES[::2], FACES[1::2], strict=True):
        for face, other in ((low, high), (high, low)):
            if boundary.face(face).kind == "periodic" and boundary.face(other).kind != "periodic":
                named = face if getattr(boundary, face) is not None else "default"
                found = f"{other} is {boundary.face(other).kind}"
                yield KeyIssue(("boundary", named), f"periodic needs both faces of {face[0]}, but {found}")


def schedules_fit_the_run(time: Time, output: Output) -> Iterator[KeyIssue]:
    """Nothing is to be recorded after the end or without end; a steady state is recorded once, whatever the times."""
    if time.is_steady:
        return
    for below, schedule in output.schedules():
        key = ("output", *below)
        if schedule.every and time.end / schedule.every > MAX_TIMES:
            times = f"{time.end / schedule.every:.3g} times to time.end = {time.end:g} s"
            yield KeyIssue((*key, "every"), f"expected at most {MAX_TIMES} times, found {times}")
        if schedule.after > time.end:
            message = f"expected a time up to time.end = {time.end:g} (s), found {schedule.after:g}"
            yield KeyIssue((*key, "after"), message)
        if isinstance(schedule, Schedule) and schedule.at and max(schedule.at) > time.end:
            message = f"expected times up to time.end = {time.end:g} (s), found {max(schedule.at):g}"
            remedy = f"leave out later times, or replace the list: --set '{'.'.join(map(str, key))}={{count=1}}'"
            yield KeyIssue((*key, "at"), message, remedy)


def stops_are_about_parts(
    time: Time, materials: Mapping[str, AnyMaterial], output: Output, stop: Stop | None
) -> Iterator[KeyIssue]:
    """A condition names materials or regions of statistics; a steady state has no time to end before."""
    if stop is None:
        return
    if time.is_steady:
        yield KeyIssue(("stop",), f'expected no stop with integrator "{time.integrator}", which has no end')
    known = [*(region.name for region in output.regions), *materials]
    for part in stop.parts:
        if part is not None and part not in known:
            message = f"expected the name of a material or of a region in output.regions, found {quote(part)}"
            yield KeyIssue(("stop", "when"), message, did_you_mean(part, known) or f"known here: {', '.join(known)}")
    if stop.every and time.end / stop.every > MAX_TIMES:
        message = f"expected at most {MAX_TIMES} looks, found {time.end / stop.every:.3g} to time.end = {time.end:g} s"
        yield KeyIssue(("stop", "every"), message)


def results_are_of_what_there_is(
    time: Time, materials: Mapping[str, AnyMaterial], ambients: Mapping[str, Ambient], output: Output
) -> Iterator[KeyIssue]:
    """A result names a part, a probe, a face or an ambient; its time is in the run, and a steady state has none. What
    is no heat has no mass."""
    parts = [*(region.name for region in output.regions), *materials]
    exchanging = [name for name, ambient in ambients.items() if not isinstance(ambient, Void)]
    known = {
        "probe": ([probe.name for probe in output.probes], "a probe in output.probes"),
        "heat": ([*FACES, *exchanging], "a face of the box or of an ambient"),
        **dict.fromkeys((*STATISTICS, *SIZES), (parts, "a material or of a region in output.regions")),
    }
    for number, result in enumerate(output.results):
        key, subject = ("output", "results", number), result.subject
        names, what = known[subject.kind]
        if subject.kind == "mass" and any(isinstance(each, DiffusionMaterial) for each in materials.values()):
            message = "expected no mass of materials that have a diffusivity, and no density"
            yield KeyIssue((*key, "of"), message, "volume() is known")
        if subject.name is not None and subject.name not in names:
            hint = did_you_mean(subject.name, names) or (f"known here: {', '.join(names)}" if names else "")
            yield KeyIssue((*key, "of"), f"expected the name of {what}, found {quote(subject.name)}", hint)
        if time.is_steady and (result.over or result.at is not None):
            name = "over" if result.over else "at"
            yield KeyIssue((*key, name), f'expected no {name} with integrator "{time.integrator}", which has no time')
        elif not time.is_steady and result.at is not None and result.at > time.end:
            message = f"expected a time up to time.end = {time.end:g} (s), found {result.at:g}"
            yield KeyIssue((*key, "at"), message)
        elif result.every is not None and time.end / result.every > MAX_TIMES:
            yield KeyIssue((*key, "every"), f"expected at most {MAX_TIMES} looks, found {time.end / result.every:.3g}")


CHECKS: tuple[tuple[Callable[..., Iterator[KeyIssue]], tuple[str, ...]], ...] = (
    (first_region_covers_the_grid, ("regions",)),
    (shapes_meet_the_grid, ("grid", "regions", "sources", "output")),
    (records_are_inside, ("grid", "output")),
    (records_have_their_own_names, ("output",)),
    (periodic_faces_come_in_pairs, ("boundary",)),
    (patches_are_parts_of_faces, ("boundary",)),
    (temperature_dependence_is_separable, ("boundary",)),
    (cylindrical_faces_exist, ("grid", "boundary")),
    (shapes_suit_cylindrical_coordinates, ("grid", "regions", "sources", "output")),
    (names_mean_one_thing, ("materials", "ambients")),
    (contacts_are_between_materials, ("ambients", "contacts")),
    (melted_fractions_have_something_to_melt, ("quantity", "materials", "output")),
    (cooling_rates_have_a_temperature, ("materials", "output")),
    (statistics_are_of_what_is_solved, ("ambients", "output")),
    (sources_are_in_what_is_solved, ("ambients", "sources")),
    (initial_temperatures_are_of_what_is_solved, ("ambients", "regions")),
    (steady_states_have_no_past, ("time", "output")),
    (quantities_do_not_radiate, ("quantity", "ambients", "boundary")),
    (quantities_have_no_beams, ("quantity", "sources")),
    (quantities_do_not_melt, ("quantity", "output")),
    (schedules_fit_the_run, ("time", "output")),
    (stops_are_about_parts, ("time", "materials", "output", "stop")),
    (results_are_of_what_there_is, ("time", "materials", "ambients", "output")),
    (smoothing_has_no_beam_to_smooth, ("sources", "smoothing")),
    (smoothing_has_something_to_smooth, ("sources", "output", "smoothing")),
    (smoothing_has_a_device_for_its_kernel, ("compute", "smoothing")),
    (smoothing_has_no_ambients_to_heat, ("ambients", "smoothing")),
    (smoothing_has_equal_cells, ("grid", "smoothing")),
    (filters_fit_their_fields, ("grid", "output", "smoothing")),
    (hot_spots_have_slices_that_show_them, ("grid", "output", "hotspots")),
    (hot_spots_have_equal_cells, ("grid", "output", "hotspots")),
)


# --- warnings


def find_warnings(scenario: Scenario) -> list[Issue]:
    """The warnings about a valid scenario, each with its place."""
    found = [*narrow_filters(scenario.grid, scenario.output, scenario.smoothing), *unused_tolerance(scenario.time)]
    found += [*cooling_while_freezing(scenario.materials, scenario.output), *scenario.warnings_of_text]
    return [scenario.issue_at(*finding) for finding in found]


def unused_tolerance(time: Time) -> Iterator[KeyIssue]:
    """A tolerance given to an integrator that has no error control."""
    if time.chosen is not None and time.chosen.default_tolerance is None and time.tolerance is not None:
        message = "explicit Euler has no error control and does not look at the tolerance"
        yield KeyIssue(("time", "tolerance"), message, 'integrator = "auto" takes one that keeps it')


def cooling_while_freezing(materials: Mapping[str, AnyMaterial], output: Output) -> Iterator[KeyIssue]:
    """Cooling rates through a temperature at which a material still gives its latent heat away, or has just done so:
    there the rate of a cell jumps, and what is seen of it depends on the size of the cell."""
    through = find_crossing_temperature(materials, output)
    if "cooling_rate" not in output.fields or through is None:
        return
    for name, material in materials.items():
        if material.latent and material.latent.solidus <= through <= material.latent.liquidus:
            given = output.cooling_through is not None
            place = ("cooling_through",) if given else ("fields", output.fields.index("cooling_rate"))
            message = f"cooling rates through {through:g}, where {quote(name)} freezes, depend on the size of the cells"
            yield KeyIssue(("output", *place), message, "give a cooling_through some tens of kelvin below the solidus")
