"""`heatsim bench stencil`: verify and time the stencil kernels, and show how fast each is beside a copy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
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
from heatsim.studies.bench.harness import Asked, Contender, Document
from heatsim.studies.bench.limits import copies, is_copy
from heatsim.studies.bench.stencil import counters, kernels, problems, theory
from heatsim.studies.bench.stencil.kernels import KernelUnderTest
from heatsim.studies.bench.stencil.problems import STEP, ShapeZYX, TimedStencil
from heatsim.studies.bench.timing import Pace, Prepare, Work, clock_of, time_interleaved

DEFAULT_SIZE = {"cpu": "256", "cuda": "512"}
DEFAULT_MATERIALS = (1, 3)
MAX_MATERIALS, MAX_LAYERS = 255, 1000
MAX_COMPILE_SIDE = 256  # cells a side of fields that stand for larger ones: they take the same tiles
BATCH = 12  # steps come in twelves or sixties, multiples of the steps that kernels fuse
TUNING_ROUNDS = 3


class Setting(NamedTuple):
    """What is timed on: (nz, ny, nx), precision, number of materials; the layers that these lie in, 0 for cubes."""

    shape: ShapeZYX
    precision: str
    materials: int
    layers: int = 0


def check(asked: Asked) -> None:
    """Check a request and fill in its defaults. Raises `RequestError`."""
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
    for text in asked["size"]:
        parse_size(text, device)


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


def _under_test(asked: Asked) -> list[KernelUnderTest]:
    return kernels.select_kernels(harness.chosen(asked["kernel"], kernels.kernel_names(asked["device"])))


def memory_needs(asked: Asked) -> Iterator[tuple[int, str]]:
    """What must fit on the device."""
    for each in _settings(asked):
        size = ",".join(map(str, reversed(each.shape))) if len(set(each.shape)) > 1 else each.shape[0]
        yield problems.bytes_needed(*each), f"--size {size} in {each.precision}"


def compile_jobs(asked: Asked) -> list[Callable[[], object]]:
    """Compile what the kernels need for the cases of the verification and for what is timed."""
    small = {tuple(min(n, MAX_COMPILE_SIDE) for n in each.shape) for each in _settings(asked)}
    timed = [problems.timed_stencil(shape, n, asked["layers"]) for shape in small for n in asked["materials"]]  # type: ignore[arg-type]
    needed = [(each.coefficients, each.forcing) for each in timed]
    needed += [(each.coefficients, each.forcing) for each in problems.all_cases(asked["materials"])]
    return [
        partial(kernels.compile_kernel, each.name, precision, coefficients, forcing)
        for coefficients, forcing in needed
        for precision in harness.precisions(asked)
        for each in _under_test(asked)
    ]


def measure(asked: Asked, tell: Tell) -> Document:
    """Verify the kernels, then time them; one that fails the verification is not timed."""
    under_test, cases = _under_test(asked), problems.all_cases(asked["materials"])
    verdicts = kernels.verify_kernels(under_test, harness.precisions(asked), cases, tell)
    flaws = {(verdict.kernel, verdict.precision): verdict.flaw for verdict in verdicts}
    rows: list[Row] = []
    for setting in _settings(asked):
        if asked["tune"]:
            _tune_tiles(setting, [each.name for each in under_test], asked["seconds"], tell)
        tell(f"timing {_size(setting.shape)} in {setting.precision}, {_medium(setting)}")
        wrong = {each.name: flaws.get((each.name, setting.precision), "") for each in under_test}
        rows += time_kernels(asked["device"], setting, under_test, wrong, asked["seconds"])
    timed = [row for row in rows if "operations_a_cell" in row]
    notes = counters.add_compile_times(asked["device"], timed, tell) if asked["compile"] else []
    notes += counters.add_counters(asked["device"], timed, tell) if asked["counters"] else []
    return {"verification": [verdict._asdict() for verdict in verdicts], "notes": notes, "rows": rows}


def time_kernels(
    device: str, setting: Setting, under_test: list[KernelUnderTest], flaws: dict[str, str], seconds: float
) -> list[Row]:
    """Rows of the copies and of the kernels; flaws: what is wrong with a kernel."""
    dtype, cells = np.dtype(setting.precision), prod(setting.shape)
    problem = problems.timed_stencil(setting.shape, setting.materials, setting.layers)
    about = {"cells": list(reversed(setting.shape)), **setting._asdict()}
    del about["shape"]
    moved = 2 * dtype.itemsize * cells
    contenders = [Contender(name, copy, about=about) for name, copy in copies(device, moved, dtype).items()]
    for each in under_test:
        contenders.append(
            Contender(
                each.name,
                prepare_steps(partial(each.build, problem.coefficients, dtype), problem),
                partial(flaws.__getitem__, each.name),
                about,
                partial(_resources, device, each, problem, dtype),
            )
        )
    rows = harness.race(contenders, is_copy, Pace(seconds, BATCH), clock_of(device))
    for row in (each for each in rows if "median" in each):
        bytes_a_cell = theory.bytes_per_cell(
            setting.precision, 0 if is_copy(row["name"]) or setting.layers else setting.materials
        )
        row["cells_per_second"], row["cells_per_second_best"] = cells / row["median"], cells / row["best"]
        row["bytes_per_second"] = bytes_a_cell * row["cells_per_second"]
        row["of_copy"] = bytes_a_cell / (2 * dtype.itemsize) / row["times"]
        if not is_copy(row["name"]):
            row["operations_a_cell"] = theory.operations_per_cell(setting.materials, setting.layers)
            row["intensity_least"] = row["operations_a_cell"] / bytes_a_cell
            row["intensity_asked"] = theory.asked_intensity(row["name"], *setting[1:])
    return rows


def prepare_steps(build: Callable[[], Any], problem: TimedStencil) -> Prepare:
    """What makes a stepper with the field of a problem, and takes steps."""

    def prepare() -> Work:
        stepper = build()
        stepper.field.put(problem.field())
        return lambda steps: stepper.advance(STEP, steps, problem.forcing)

    return prepare


def _resources(device: str, kernel: KernelUnderTest, problem: TimedStencil, dtype: np.dtype) -> Row:
    """What a CUDA kernel takes of a multiprocessor."""

    def read() -> Any:
        stepper: Any = kernel.build(problem.coefficients, dtype)
        return stepper.resources(problem.forcing)

    return machine.multiprocessor_use(read) if device == "cuda" else {}


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
        subjects = {name: prepare_steps(partial(build, movement, tile), problem) for name, tile in tiles.items()}
        timings = time_interleaved(subjects, Pace(seconds, BATCH, TUNING_ROUNDS), clock_of("cuda"))
        name = min(timings, key=lambda each: timings[each].median)
        tile_tuning.save_tile(movement, configuration, device_name(), tiles[name])
        rate = prod(setting.shape) / timings[name].median / 1e9
        tell(f"{kernel}, {setting.precision}, {setting.materials} materials: tile {name}, {rate:.1f} G cells/s")


# The table.


def _size(shape: ShapeZYX) -> str:
    return f"{shape[0]}^3" if len(set(shape)) == 1 else " x ".join(map(str, reversed(shape)))


def _medium(setting: Setting) -> str:
    layers = f" in {setting.layers} layers" if setting.layers else ""
    return f"{setting.materials} material" + "s" * (setting.materials > 1) + layers


def _compile(row: Row) -> str:
    if "compile_cold_seconds" not in row:
        return ""
    return f"{row['compile_cold_seconds']:.1f} / {row['compile_warm_seconds']:.1f}"


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
    *number_columns(".2f", {"measured": "intensity_measured"}),
    *number_columns(".0f", {"registers": "registers", "spilled B": "spilled_bytes", "shared B": "shared_bytes"}),
    *number_columns(".0f", {"threads": "threads"}),
    TableColumn("blocks/SM", harness.blocks_and_occupancy),
    TableColumn("compile s", _compile),
)


# The roofline: a panel for each precision in which a kernel was timed, of the largest grid.


def _draw(path: Path, document: Document) -> bool:
    largest = max((row["cells"] for row in document["rows"]), key=prod)
    rows = [row for row in document["rows"] if row["cells"] == largest and "median" in row]
    timed = [row for row in rows if not is_copy(row["name"])]
    if not timed:
        return False
    draw_roofline(
        path,
        [_panel(precision, rows) for precision in dict.fromkeys(row["precision"] for row in timed)],
        title=f"Stencil kernels on {document['machine']['device_name']}",
        subtitle=f"{' x '.join(map(str, largest))} cells; intensity: operations over the bytes that "
        + ("the hardware counted" if any(row.get("intensity_measured") for row in timed) else "must move"),
        key="kernel: fraction of copy limit",
    )
    return True


def _panel(precision: str, rows: list[Row]) -> RooflinePanel:
    here = [row for row in rows if row["precision"] == precision]
    bandwidth = max(row["bytes_per_second"] for row in here if is_copy(row["name"]))
    timed = [row for row in here if not is_copy(row["name"])]
    return RooflinePanel(precision, bandwidth, [_point(row) for row in timed], _guides(timed))


def _point(row: Row) -> RooflinePoint:
    several = row["materials"] > 1
    materials = f", {row['materials']} materials" if several else ""
    return RooflinePoint(
        f"{row['name']}{materials}: {'-' if row['doubt'] else format(row['of_copy'], '.2f')}",
        row["name"],
        row.get("intensity_measured") or row["intensity_least"],
        row["cells_per_second"] * row["operations_a_cell"],
        several,
    )


def _guides(timed: list[Row]) -> list[RooflineGuide]:
    """The intensities that theory gives in one material, kernels of the same value together."""
    named: dict[float, list[str]] = {}
    fewest = min(row["materials"] for row in timed)
    for row in (each for each in timed if each["materials"] == fewest):
        named.setdefault(row["intensity_least"], ["read once, written once"])
        if row["intensity_asked"] is not None:
            named.setdefault(row["intensity_asked"], []).append(f"{row['name']} asks")
    return [RooflineGuide(", ".join(dict.fromkeys(names)), intensity) for intensity, names in sorted(named.items())]


SUITE = harness.Suite(
    check,
    measure,
    harness.Layout(
        COLUMNS,
        group=lambda row: (row["cells"], row["precision"], row["materials"]),
        verified="Before it was timed, every kernel gave the bits of the reference on {cases} problems.",
        draw=_draw,
        figure="Roofline of the stencil kernels",
    ),
    memory=memory_needs,
    compile_jobs=compile_jobs,
)
