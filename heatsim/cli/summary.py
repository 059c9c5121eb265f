"""Summaries for people: of a run, of what a run would take, of this machine."""

from __future__ import annotations

import os
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heatsim.base.methods import METHODS
from heatsim.base.quantity import Quantity
from heatsim.output.recorders import RECORDERS
from heatsim.output.recorders.timings import describe_parts
from heatsim.simulation.periodic_state import EXPECTED_PERIODS
from heatsim.simulation.run_warnings import describe_duration
from heatsim.solve.integrators import INTEGRATORS

if TYPE_CHECKING:
    from heatsim.store.folder import RunFolder
    from heatsim.store.tables import HotSpot

_FEW = 8  # values of a parameter that are all told


def format_table(rows: Sequence[Sequence[str]], sides: str = "<.") -> str:
    """Rows with aligned columns. sides: "<" or ">" for each column, "." for a last one that is not filled up."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    forms = ["" if side == "." else f"{side}{width}" for side, width in zip(sides, widths, strict=True)]
    return "\n".join("  ".join(map(format, row, forms)) for row in rows)


def format_run(path: Path, info: dict[str, Any]) -> str:
    """The closing summary of a run."""
    timings, integrator = info["timings"], INTEGRATORS[info["integrator"]]
    solved = Quantity.of_run(info)
    results, times, units = (info.get(key, {}) for key in ("results", "result_times", "result_units"))
    steady = integrator.method.to_limit
    reached = "the steady state" if info["time"] is None else f"t = {info['time']:g} s"
    energy, unit = info["energy"], solved.in_own_unit(integrator.method.energy_unit)
    heat = energy["faces"] | energy["ambients"]
    entered = [f"{name} {value:.5g} {unit}" for name, value in heat.items() if value != 0.0]
    go_on = f"heatsim resume {shlex.quote(str(path))}" + (" (a steady state is sought anew)" if steady else "")
    rows = [
        ("state", f"{info['state']} at {reached}"),
        *([("stopped by", f"{info['stop']['criterion']}, {_format_event(info['stop'])}")] if "stop" in info else []),
        ("device", f"{info['device_name']}, {info['precision']}"),
        ("kernel", f"{info['kernel']} ({info['kernel_reason']})"),
        ("grid", " x ".join(map(str, info["cells"])) + " cells"),
        ("integrator", f"{info['integrator']} ({info['integrator_reason']})"),
        *([] if steady else [("steps", _format_steps(info))]),
        *integrator.report(info),
        ("wall time", f"{timings['total_seconds']:.2f} s: {describe_parts(timings)}"),
        *([] if steady else [("rate", f"{info['cell_updates_per_second'] / 1e9:.3f} G cell updates/s in the steps")]),
        (
            f"{solved.stored} residual",
            f"{energy['residual']:.3g} {unit}, {energy['relative_residual']:.1e} of the {solved.stored} moved",
        ),
        *([(solved.in_own_words("heat entered"), ", ".join(entered))] if entered else []),
        *((name, _format_result(value, units.get(name, ""), times.get(name))) for name, value in results.items()),
        *([("hot spots", _format_hottest(info))] if "hotspots" in info else []),
        *(("warning", warning) for warning in info.get("warnings", ())),
        ("results", f"{path}{os.sep}"),
        *([("to go on", go_on)] if info["state"] == "stopped" else []),
    ]
    return format_table(rows)


def _format_steps(info: dict[str, Any]) -> str:
    steps = info["steps"]
    mean = info["time"] / steps if steps else 0.0
    rejected = f" and {info['rejected_steps']} rejected" if info.get("rejected_steps") else ""
    limit = info["stability_limit_seconds"] or float("inf")
    of = "" if METHODS[info["integrator"]].bounded_by_stability else "of explicit Euler "
    return f"{steps}{rejected}, mean {mean:.4g} s (stability limit {of}{limit:.4g} s)"


def _format_event(stop: dict[str, Any]) -> str:
    """When the condition of a stop began to hold, and how exactly that is known."""
    start, end = stop["between"]
    found = f"at t = {stop['time']:.6g} s, found to {max(end - start, 0.0):.2g} s"
    return f"{found}; an error of the tolerance shifts it by {stop['shift']:.2g} s" if stop["shift"] else found


def _format_result(value: float | None, unit: str, time: float | None = None) -> str:
    """A result with its unit, and when it was so, if that is known."""
    found = "not reached" if value is None else f"{value:.6g} {unit}".rstrip()
    return found if value is None or time is None else f"{found} at t = {time:.6g} s"


def _format_hottest(info: dict[str, Any]) -> str:
    spots = info["hotspots"]
    if not spots:
        return "none"
    top = max(spots, key=lambda spot: spot["temperature"])
    place = ", ".join(f"{top[axis]:.4g}" for axis in "xyz")
    solved = Quantity.of_run(info)
    most = solved.in_own_words("the hottest")
    return f"{len(spots)}, {most} {top['temperature']:.5g} {solved.unit} at ({place}) m"


def format_hotspots(spots: Sequence[HotSpot], solved: Quantity) -> str:
    """The table of hot spots."""
    if not spots:
        return "no hot spots"
    values = f"{solved.name} [{solved.unit}]", f"rise [{solved.difference_unit}]"
    head = ("slice", "time [s]", "x [m]", "y [m]", "z [m]", "scale [m]", *values)
    return format_table([head, *((spot.slice, *(f"{value:.5g}" for value in spot[1:])) for spot in spots)], "<>>>>>>>")


def format_folder(folder: RunFolder, info: dict[str, Any]) -> str:
    """What a run folder holds."""
    solved = Quantity.of_run(info)
    frames = {name: len(folder.slice_frame_paths(name)) for name in folder.slice_names()}
    rows = [
        ("title", str(info.get("title") or "none")),
        ("state", str(info.get("state", "unknown"))),
        ("snapshots", f"{len(folder.snapshot_paths())} in {folder.series.name}"),
        ("fields", ", ".join([solved.name, *map(solved.field_name, info.get("fields", ()))])),
        ("slices", ", ".join(f"{name} ({count} frames)" for name, count in frames.items()) or "none"),
    ]
    tables = [(entry.label, entry.table) for entry in RECORDERS.values() if entry.table]
    rows += [(label, table if (folder.path / table).is_file() else "none") for label, table in tables]
    return format_table(rows)


def format_sweep(path: Path, about: Mapping[str, Any]) -> str:
    """What the folder of a sweep holds: its parameters, how many runs are done, and the extremes of their values."""
    states = Counter(row["state"] for row in about["runs"])
    missing = about["planned"] - states["finished"]
    counts = ", ".join(f"{count} {state}" for state, count in states.items()) or "none taken"
    rows = [
        ("scenario", " ".join([about["scenario"], *(f"--set {shlex.quote(each)}" for each in about["overrides"])])),
        ("runs", f"{about['planned']}: {counts}" + (f"; {missing} to do by heatsim sweep --resume" if missing else "")),
    ]
    for name, values in about["parameters"].items():
        few = values if len(values) <= _FEW else [*values[: _FEW - 2], "...", values[-1]]
        rows.append((name, f"{', '.join(few)} ({len(values)} values)" if len(values) > _FEW else ", ".join(few)))
    done = [row for row in about["runs"] if row["state"] == "finished"]
    columns = list(done[0])[len(about["parameters"]) + 2 :] if done else []
    for name in columns:
        found = [(float(row[name]), row["run"]) for row in done if row[name] and name != "error"]
        if found:
            low, high = min(found), max(found)
            title, _, unit = name.partition(" [")
            told = f"{low[0]:.6g} (run {low[1]}) to {high[0]:.6g} (run {high[1]}) {unit.rstrip(']')}".rstrip()
            rows.append((title, told))
    pictures = len(list((path / "pictures").glob("*.png")))
    rows += [("pictures", f"{pictures} in {path / 'pictures'}" if pictures else "none; heatsim plot draws them")]
    return format_table(rows)


def format_estimate(numbers: dict[str, Any]) -> str:
    """An estimate for people."""
    limit, steps, whole = numbers["stability_limit_seconds"], numbers["steps"], numbers["seconds"]
    steady = METHODS[numbers["integrator"]].to_limit
    found = f"found on the way; about {numbers['seconds_a_step']:.3g} s of computing each"
    rows = [
        ("device", f"{numbers['device']}, kernel {numbers['kernel']}"),
        ("stability limit", f"{limit:.6g} s" if limit else "none"),
        ("step", f"at most {numbers['largest_step_seconds']:.6g} s"),
        ("steps", found if steps is None else f"{steps}, {numbers['cell_updates']:.3g} cell updates"),
        ("memory", f"about {numbers['memory_bytes'] / 1e6:.0f} MB"),
        ("disk", f"about {numbers['disk_bytes'] / 1e6:.1f} MB of snapshots and checkpoints"),
        ("time", "depends on the number of steps" if whole is None else f"about {describe_duration(whole)}"),
    ]
    if numbers.get("periodic_seconds"):
        told = describe_duration(numbers["periodic_seconds"])
        rows.append(("periodic state", f"about {told} of this, if it is found in {EXPECTED_PERIODS} periods"))
    shown = format_table([row for row in rows if not (steady and row[0] in ("stability limit", "step", "steps"))])
    return shown if numbers["advice"] is None else f"{shown}\n\n{_format_recommendation(numbers['advice'])}"


def _format_recommendation(advice: dict[str, Any]) -> str:
    """The table of all integrators, and which to take."""
    head = ("integrator", "steps", "sweeps", "seconds", "")
    rows = [
        (each["integrator"], f"{each['steps']}", f"{each['sweeps'] or '-'}", f"{each['seconds']:.2g}", each["refused"])
        for each in advice["estimates"]
    ]
    lines = [line.rstrip() for line in format_table([head, *rows], "<>>>.").splitlines()]
    advised = f"advised for an error of {advice['tolerance']:g} of the range of temperatures: {advice['integrator']}"
    return "\n".join([*lines, advised, *filter(None, [advice["hint"]])])
