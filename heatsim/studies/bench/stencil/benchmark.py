"""`heatsim bench stencil`: verify and time the stencil kernels, and show how fast each is beside a copy."""

from __future__ import annotations

from functools import partial
from itertools import product
from math import prod
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from heatsim_kernels.explicit import ONE_STEP_KERNELS, STEPPERS
from heatsim_kernels.explicit.ladder import load_kernel

from heatsim.base.tables import Row, TableColumn, Tell, number, number_columns, ratio_columns
from heatsim.errors import RequestError
from heatsim.output.pictures.roofline import RooflineGuide, RooflinePanel, RooflinePoint, draw_roofline
from heatsim.studies.bench import harness, machine
from heatsim.studies.bench.harness import Asked, Contender, Document, Pace, Work, clock_of
from heatsim.studies.bench.machine import copies, is_copy
from heatsim.studies.bench.stencil import kernels, problems
from heatsim.studies.bench.stencil.problems import STEP, ShapeZYX, TimedStencil

DEFAULT_SIZE = {"cpu": "256", "cuda": "512"}
DEFAULT_MATERIALS = (1, 3)
MAX_MATERIALS, MAX_LAYERS = 255, 1000
BATCH = 12  # steps come in twelves or sixties, multiples of the steps that kernels fuse
TUNING_ROUNDS = 3


class Setting(NamedTuple):
    """What is timed on: (nz, ny, nx), precision, number of materials; the layers that these lie in, 0 for cubes."""

    shape: ShapeZYX
    precision: str
    materials: int
    layers: int = 0


def check(asked: Asked) -> None:
    """Check a request and fill in its defaults. Raises `HeatsimError`."""
    device, known = asked["device"], kernels.kernel_names(asked["device"])
    for name in asked["kernel"]:
        if name not in known:
            elsewhere = f'; "{name}" runs on another device' if name in STEPPERS else ""
            raise RequestError(
                f'--kernel {name}: not a kernel of device "{device}", which has {", ".join(known)}{elsewhere}'
            )
    for count in asked["materials"]:
        if not 1 <= count <= MAX_MATERIALS:
            raise RequestError(f"--materials {count}: between 1 and {MAX_MATERIALS} are possible")
    if not 0 <= asked["layers"] <= MAX_LAYERS:
        raise RequestError(f"--layers {asked['layers']}: between 1 and {MAX_LAYERS} are possible")
    if asked["tune"] and device == "cpu":
        raise RequestError("--tune: only the CUDA kernels have tiles to choose from")
    harness.check_time("--seconds", asked["seconds"])
    asked["size"] = tuple(dict.fromkeys(asked["size"])) or (DEFAULT_SIZE[device],)
    asked["materials"] = tuple(dict.fromkeys(asked["materials"])) or DEFAULT_MATERIALS
    for each in _settings(asked):
        size = ",".join(map(str, reversed(each.shape))) if len(set(each.shape)) > 1 else each.shape[0]
        machine.require_memory(device, problems.bytes_needed(*each), f"--size {size} in {each.precision}")


def parse_size(text: str, device: str) -> ShapeZYX:
    """(nz, ny, nx) of "n" or "nx,ny,nz". Raises `RequestError`."""
    form = "cells an axis, such as 256 or 512,512,64 (nx,ny,nz)"
    nz, ny, nx = harness.parse_numbers("--size", text, form, 3)
    if min(nz, ny, nx) <= 0:
        raise RequestError(f"--size {text}: every axis needs at least one cell")
    harness.check_count(device, text, nx * ny * nz)
    return nz, ny, nx


def _settings(asked: Asked) -> list[Setting]:
    shapes = [parse_size(text, asked["device"]) for text in asked["size"]]
    every = product(shapes, harness.precisions(asked), asked["materials"])
    return [Setting(*each, layers=asked["layers"] if each[-1] > 1 else 0) for each in every]


def measure(asked: Asked, tell: Tell) -> Document:
    """Verify the kernels, then time them; one that fails the verification is not timed."""
    device, cases = asked["device"], problems.all_cases(asked["materials"])
    names = kernels.shown_names(harness.chosen(asked["kernel"], kernels.kernel_names(device)))
    verdicts = kernels.verify_kernels(device, names, harness.precisions(asked), cases, tell)
    flaws = {(verdict.kernel, verdict.precision): verdict.flaw for verdict in verdicts}
    rows: list[Row] = []
    for setting in _settings(asked):
        if asked["tune"]:
            _tune_tiles(setting, names, asked["seconds"], tell)
        tell(f"timing {_size(setting.shape)} in {setting.precision}, materials: {setting.materials}")
        rows += time_kernels(
            device, setting, {each: flaws[each, setting.precision] for each in names}, asked["seconds"]
        )
    return {"verification": [verdict._asdict() for verdict in verdicts], "notes": [], "rows": rows}


def time_kernels(device: str, setting: Setting, flaws: dict[str, str], seconds: float) -> list[Row]:
    """Rows of the copies and of the kernels; flaws: what is wrong with each kernel."""
    dtype, cells = np.dtype(setting.precision), prod(setting.shape)
    problem = problems.timed_stencil(setting.shape, setting.materials, setting.layers)
    about = {"cells": list(reversed(setting.shape)), **setting._asdict()}
    del about["shape"]
    moved = 2 * dtype.itemsize * cells
    contenders = [Contender(name, copy, about=about) for name, copy in copies(device, moved, dtype).items()]
    for name, flaw in flaws.items():
        build = partial(kernels.builder(name), problem.coefficients, dtype)
        read = partial(_resources, build, problem) if device == "cuda" else dict
        contenders.append(Contender(name, partial(prepare_steps, build, problem), partial(str, flaw), about, read))
    rows = harness.race(contenders, is_copy, Pace(seconds, BATCH), clock_of(device))
    for row in (each for each in rows if "median" in each):
        copied = is_copy(row["name"])
        bytes_a_cell = problems.bytes_per_cell(setting.precision, 0 if copied or setting.layers else setting.materials)
        row["cells_per_second"], row["cells_per_second_best"] = cells / row["median"], cells / row["best"]
        row["bytes_per_second"] = bytes_a_cell * row["cells_per_second"]
        row["of_copy"] = bytes_a_cell / (2 * dtype.itemsize) / row["times"]
        if not copied:
            row["operations_a_cell"] = problems.operations_per_cell(setting.materials, setting.layers)
            row["intensity_least"] = row["operations_a_cell"] / bytes_a_cell
            row["intensity_asked"] = problems.asked_intensity(row["name"], *setting[1:])
    return rows


def prepare_steps(build: partial[Any], problem: TimedStencil) -> Work:
    """Make a stepper with the field of a problem, which takes steps."""
    stepper = build()
    stepper.field.put(problem.field())
    return lambda steps: stepper.advance(STEP, steps, problem.forcing)


def _resources(build: partial[Any], problem: TimedStencil) -> Row:
    """What a CUDA kernel takes of a multiprocessor."""
    return machine.multiprocessor_use(lambda: build().resources(problem.forcing))


def _tune_tiles(setting: Setting, names: list[str], seconds: float, tell: Tell) -> None:
    """Time all tiles of each kernel that takes single steps, and keep the fastest for later runs on such a GPU."""
    from heatsim_kernels.device.cuda.api import device_name
    from heatsim_kernels.explicit.cuda import tile_tuning
    from heatsim_kernels.explicit.cuda.linear_pass import LinearCudaPass
    from heatsim_kernels.explicit.cuda.stepper import CudaStepper
    from heatsim_kernels.explicit.cuda_cell.configuration import StencilConfiguration

    problem = problems.timed_stencil(setting.shape, setting.materials, setting.layers)
    coefficients, dtype = problem.coefficients, np.dtype(setting.precision)
    configuration = StencilConfiguration.of(coefficients, problem.forcing, dtype)

    def build(movement: ModuleType, tile: Any) -> CudaStepper:
        return CudaStepper(coefficients, dtype, LinearCudaPass(coefficients, dtype, movement, tile))

    for kernel in (name for name in names if name in ONE_STEP_KERNELS):
        movement: Any = load_kernel(kernel)
        tiles = {str(tuple(tile)): tile for tile in movement.TILES}
        contenders = [
            Contender(name, partial(prepare_steps, partial(build, movement, tile), problem))
            for name, tile in tiles.items()
        ]
        rows = harness.race(contenders, bool, Pace(seconds, BATCH, TUNING_ROUNDS), clock_of("cuda"))
        best = min((row for row in rows if "median" in row), key=lambda row: row["median"])
        tile_tuning.save_tile(movement, configuration, device_name(), tiles[best["name"]])
        rate = prod(setting.shape) / best["median"] / 1e9
        words = f"{kernel}, {setting.precision}, {setting.materials} materials"
        tell(f"{words}: tile {best['name']}, {rate:.1f} G cells/s")


def _size(shape: ShapeZYX) -> str:
    return f"{shape[0]}^3" if len(set(shape)) == 1 else " x ".join(map(str, reversed(shape)))


COLUMNS = (
    TableColumn("grid", lambda row: _size(tuple(reversed(row["cells"])))),
    TableColumn("precision", lambda row: str(row["precision"])),
    TableColumn("materials", lambda row: f"{row['materials']}" + f" in {row['layers']} layers" * bool(row["layers"])),
    TableColumn("kernel", lambda row: str(row["name"])),
    TableColumn("G cells/s", harness.rate_or_failure("cells_per_second")),
    TableColumn("best", number("cells_per_second_best", ".2f", 1e9)),
    TableColumn("T_eff GB/s", number("bytes_per_second", ".1f", 1e9)),
    *ratio_columns({"of copy": "of_copy"}),
    *number_columns(".2f", {"OP/B asked": "intensity_asked", "least": "intensity_least"}),
    *number_columns(".0f", {"registers": "registers", "spilled B": "spilled_bytes", "shared B": "shared_bytes"}),
    *number_columns(".0f", {"threads": "threads"}),
    TableColumn("blocks/SM", machine.blocks_and_occupancy),
)


# The roofline: a panel for each precision in which a kernel was timed, of the largest grid.


def _draw(path: Path, document: Document) -> None:
    largest = max((row["cells"] for row in document["rows"]), key=prod)
    rows = [row for row in document["rows"] if row["cells"] == largest and "median" in row]
    timed = [row for row in rows if not is_copy(row["name"])]
    if timed:
        draw_roofline(
            path,
            [_panel(precision, rows) for precision in dict.fromkeys(row["precision"] for row in timed)],
            title=f"Stencil kernels on {document['machine']['device_name']}",
            subtitle=f"{' x '.join(map(str, largest))} cells; intensity: operations over the bytes that must move",
            key="kernel: fraction of copy limit",
        )


def _panel(precision: str, rows: list[Row]) -> RooflinePanel:
    here = [row for row in rows if row["precision"] == precision]
    bandwidth = max(row["bytes_per_second"] for row in here if is_copy(row["name"]))
    timed = [row for row in here if not is_copy(row["name"])]
    return RooflinePanel(precision, bandwidth, [_point(row) for row in timed], _guides(timed))


def _point(row: Row) -> RooflinePoint:
    several = row["materials"] > 1
    materials = f", {row['materials']} materials" if several else ""
    ratio = "-" if row["doubt"] else format(row["of_copy"], ".2f")
    rate = row["cells_per_second"] * row["operations_a_cell"]
    return RooflinePoint(f"{row['name']}{materials}: {ratio}", row["name"], row["intensity_least"], rate, several)


def _guides(timed: list[Row]) -> list[RooflineGuide]:
    """The intensities that theory gives in one material, kernels of the same value together."""
    named: dict[float, list[str]] = {}
    fewest = min(row["materials"] for row in timed)
    for row in (each for each in timed if each["materials"] == fewest):
        named.setdefault(row["intensity_least"], ["read once, written once"])
        if row["intensity_asked"] is not None:
            named.setdefault(row["intensity_asked"], []).append(f"{row['name']} asks")
    return [RooflineGuide(", ".join(dict.fromkeys(names)), intensity) for intensity, names in sorted(named.items())]


SUITE = harness.Suite(check, measure, COLUMNS, lambda row: (row["cells"], row["precision"], row["materials"]), _draw)
