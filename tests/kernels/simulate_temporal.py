"""Run `temporal` and `basic` on the CUDA simulator: `NUMBA_ENABLE_CUDASIM=1 python simulate_temporal.py RESULT.npz`.

A process of its own, because the simulator is chosen once, when Numba is imported. It compiles nothing.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from heatsim_kernels.device.cuda.arrays import Array, Table, empty, on_device
from heatsim_kernels.explicit import STEPPERS
from heatsim_kernels.explicit.blocked.cell_classes import TemporalCellClasses, lay_out_classes
from heatsim_kernels.explicit.blocked.launch import FusedSteps, tables_of
from heatsim_kernels.explicit.blocked.march import StepRates
from heatsim_kernels.explicit.blocked.plan import TemporalTile, corners
from heatsim_kernels.explicit.blocked.turn_kinds import classify_turns
from heatsim_kernels.explicit.coefficients import Forcing, StencilCoefficients
from heatsim_kernels.explicit.cuda.ledger import FUSED_BLOCKS, CudaLedger, LedgerInputs
from heatsim_kernels.explicit.cuda.sent_forcing import ForcingUploads
from heatsim_kernels.explicit.cuda_cell.cell_update import rates_of_classes
from heatsim_kernels.explicit.cuda_cell.configuration import StencilConfiguration
from heatsim_kernels.explicit.heat_ledger import LossesOfOneClass
from heatsim_kernels.field.cuda.field import CudaField
from helpers.kernel_cases import STEP, Case, Features, random_case, row_of


class TemporalTrial(NamedTuple):
    """A problem for a tile; the tiles of the tests are tiny, since the simulator is slow."""

    shape: tuple[int, int, int]
    tile: TemporalTile
    dtype: type
    periodic: tuple[bool, bool, bool] = (False, False, False)
    features: Features = Features()
    seed: int = 7
    per_cell: bool = False
    uneven: tuple[bool, bool, bool] = (True, True, True)
    by_plane: bool = True  # whether the classes of layers are read plane by plane


HEATED, MATERIALS = Features(table=True), Features(zones=3, pairs=True, table=True)
LOSSES = Features(table=True, losses=True)
LAYERS = MATERIALS._replace(layers=1)
SMALL, NEAR = TemporalTile(2, 2, 3, 2), TemporalTile(2, 2, 3, 2, ahead=1)
TRIALS = {
    "a march long enough for its loop beside walls, rows of odd length": TemporalTrial(
        (8, 6, 9), SMALL, np.float64, features=HEATED
    ),
    "one plane": TemporalTrial((1, 8, 12), SMALL, np.float32, features=HEATED),
    "a tile with no wall at x and y": TemporalTrial((6, 2, 13), SMALL, np.float32, (False, True, False)),
    "three steps, four columns a lane": TemporalTrial((2, 8, 20), TemporalTile(3, 4, 4, 2), np.float32),
    "periodic in y and z, one plane on its way": TemporalTrial((4, 5, 8), NEAR, np.float32, (False, True, True)),
    "periodic all around": TemporalTrial((3, 3, 6), NEAR, np.float64, (True, True, True)),
    "materials in blocks": TemporalTrial((6, 6, 9), SMALL, np.float32, features=MATERIALS),
    "materials in blocks of many turns": TemporalTrial(
        (17, 8, 9), SMALL, np.float32, features=MATERIALS._replace(block=(8, 8, 5))
    ),
    "materials in blocks of many turns with losses, periodic in z": TemporalTrial(
        (16, 8, 9), NEAR, np.float64, (False, False, True), MATERIALS._replace(block=(7, 8, 5), losses=True)
    ),
    "a material of its own to every cell, periodic in x": TemporalTrial(
        (5, 6, 9), NEAR, np.float64, (True, False, False), Features(zones=2, pairs=True), seed=8
    ),
    "more classes than find room for their boundary values": TemporalTrial(
        (3, 6, 8), SMALL, np.float32, features=Features(zones=3, pairs=True), seed=8
    ),
    "classes that differ in sources alone": TemporalTrial(
        (3, 6, 8), SMALL, np.float32, features=Features(zones=3, table=True, losses=True), seed=8
    ),
    "boundary values a cell, rows of odd length": TemporalTrial((5, 6, 9), SMALL, np.float64, per_cell=True),
    "boundary values a cell, periodic in y and z": TemporalTrial(
        (4, 5, 8), NEAR, np.float32, (False, True, True), MATERIALS, per_cell=True
    ),
    "boundary values a cell, periodic in x": TemporalTrial(
        (2, 6, 9), SMALL, np.float32, (True, False, False), HEATED, per_cell=True
    ),
    "boundary values a cell at the faces of z alone": TemporalTrial(
        (4, 6, 9), SMALL, np.float32, features=HEATED, per_cell=True, uneven=(False, False, True)
    ),
    "boundary values a cell at the faces of y alone": TemporalTrial(
        (2, 6, 9), SMALL, np.float64, per_cell=True, uneven=(False, True, False)
    ),
    "a rate a face": TemporalTrial((2, 6, 8), NEAR, np.float32, features=Features(skew=True)),
    "layers": TemporalTrial((9, 6, 9), SMALL, np.float32, features=LAYERS),
    "thick layers, tiles inside": TemporalTrial(
        (15, 5, 8), SMALL, np.float32, (True, True, False), LAYERS._replace(layers=5)
    ),
    "layers that differ in sources alone, tiles inside": TemporalTrial(
        (15, 5, 8), SMALL, np.float32, (True, True, False), Features(zones=3, table=True, layers=5), seed=8
    ),
    "layers read cell by cell": TemporalTrial((6, 6, 9), SMALL, np.float64, features=LAYERS, by_plane=False),
    "layers with losses, periodic in z, boundary values a cell": TemporalTrial(
        (7, 6, 9), NEAR, np.float64, (False, False, True), LAYERS._replace(losses=True), per_cell=True
    ),
    "losses": TemporalTrial((4, 6, 9), SMALL, np.float64, (False, True, False), LOSSES),
    "losses in materials": TemporalTrial((4, 6, 9), SMALL, np.float64, features=MATERIALS._replace(losses=True)),
}


def case_of(trial: TemporalTrial) -> Case:
    """A random problem whose boundary faces and source are other ones in each step."""
    case = random_case(
        trial.shape,
        trial.features,
        periodic=trial.periodic,
        per_cell=trial.per_cell,
        rows=trial.tile.steps,
        seed=trial.seed,
    )
    boundary = with_even_faces(case.coefficients, case.forcing, trial.uneven) if trial.per_cell else case.forcing
    carries = trial.features.losses and trial.features.zones == 1  # what is lost follows from what enters
    closed = tuple(np.repeat(trial.periodic, 2).tolist()) if carries else (True,) * 6
    return Case(replace(case.coefficients, closed=closed), boundary, case.start)


def with_even_faces(coefficients: StencilCoefficients, forcing: Forcing, uneven: tuple[bool, bool, bool]) -> Forcing:
    """The same with one value a face along the axes that are not uneven."""
    starts = [*coefficients.cell_offsets, coefficients.boundary_size]
    a, b = forcing.boundary_a.copy(), forcing.boundary_b.copy()
    for face in range(6):
        if not uneven[face // 2]:
            for values in (a, b):
                values[:, starts[face] : starts[face + 1]] = values[:, starts[face], None]
    return replace(forcing, boundary_a=a, boundary_b=b)


def beside_boundary(field: np.ndarray, periodic: tuple[bool, bool, bool]) -> np.ndarray:
    """The cells beside the FACES that have boundary faces, flat."""
    faces = (field[:, :, 0], field[:, :, -1], field[:, 0], field[:, -1], field[0], field[-1])
    bounded = [face.ravel() for face, wraps in zip(faces, np.repeat(periodic, 2), strict=True) if not wraps]
    return np.concatenate([np.zeros(0, field.dtype), *bounded])


def step_by_step(trial: TemporalTrial) -> dict[str, np.ndarray]:
    """What `basic` makes of a problem, and the cells beside boundary faces before each step."""
    case = case_of(trial)
    sweep = STEPPERS["basic"](case.coefficients, np.dtype(trial.dtype))
    sweep.field.put(case.start)
    traces: list[np.ndarray] = []
    for k in range(trial.tile.steps):
        traces.append(beside_boundary(np.array(sweep.field.host()), trial.periodic))
        sweep.advance(STEP, 1, row_of(case.forcing, k))
    return {"field": np.array(sweep.field.host()), "trace": np.concatenate(traces), "heat": sweep.heat_entered()[-1:]}


def at_once(trial: TemporalTrial) -> dict[str, np.ndarray]:
    """The same by one sweep of `temporal`, and the field of a sweep that leaves no trace, if there is such a one."""
    leaves_one = trial.features.losses or trial.per_cell
    return swept(trial, True) | ({} if leaves_one else {"untraced": swept(trial, False)["field"]})


def swept(trial: TemporalTrial, traced: bool) -> dict[str, np.ndarray]:
    """What one sweep of `temporal` makes of a problem, and its trace, if it leaves one."""
    case, dtype = case_of(trial), np.dtype(trial.dtype)
    structure, coefficients = StencilConfiguration.of(case.coefficients, case.forcing, dtype), case.coefficients
    of_planes = coefficients.classes_of_planes if trial.by_plane else None
    assert coefficients.paired == (trial.features.layers > 0 and trial.features.pairs)
    structure = structure._replace(uneven=trial.uneven, layered=of_planes is not None)
    structure = structure.with_room_for(coefficients.class_count)
    cell_classes = TemporalCellClasses(
        on_device(coefficients.class_ids.ravel()),
        coefficients.rates,
        of_planes,
    )
    accounts = on_device(np.zeros((1, FUSED_BLOCKS)))
    fused = FusedSteps(
        structure, trial.tile, trial.shape, traced=traced, cell_classes=cell_classes, heat_accounts=accounts
    )
    u, v = on_device(case.start.astype(dtype).ravel()), empty(case.start.size, dtype)
    heat = np.zeros((1, 1)) if case.forcing.heat_table is None else case.forcing.heat_table
    tables = (
        Table(on_device(rows.astype(dtype)), len(rows))
        for rows in (case.forcing.boundary_a, case.forcing.boundary_b, heat)
    )
    rates = rates_of_classes(coefficients, STEP, dtype)
    rx, ry, rz = rates[0, 0:6:2]
    fused.bound(u, v, 0, tables_of(*tables), StepRates(rx, ry, rz, dtype.type(STEP)), on_device(rates.ravel()))()
    field = v.host().reshape(trial.shape)
    if not traced:
        return {"field": field}
    nz, ny, nx = trial.shape
    written = np.repeat(~np.repeat(trial.periodic, 2), [nz * ny, nz * ny, nz * nx, nz * nx, ny * nx, ny * nx])
    trace = fused.trace.host().reshape(trial.tile.steps, -1)[:, written]
    lost = accounts.host()[-1:].sum(axis=1)
    if structure.carries_heat:
        lost = carried_losses(case, structure, fused.trace)
    return {"field": field, "trace": trace.ravel(), "heat": lost}


def carried_losses(case: Case, structure: StencilConfiguration, trace: Array) -> np.ndarray:
    """(1,) what a field of one class lost in steps that left a trace, as the ledger has it, J."""
    coefficients, dtype = case.coefficients, np.dtype(structure.dtype)
    field, losses = CudaField(coefficients, dtype), LossesOfOneClass(coefficients, dtype)
    field.put(case.start)
    ledger, uploads = CudaLedger(coefficients, field), ForcingUploads(dtype, np.zeros((1, 1)))
    sent = uploads.send(STEP, case.forcing)
    weights = on_device(rates_of_classes(coefficients, STEP, dtype)[0] * coefficients.capacity[0])
    of_losses = losses.share(STEP), losses.released(STEP, case.forcing)
    inputs = LedgerInputs(structure, sent.boundary_a, sent.boundary_b, weights, *of_losses)
    ledger.begin_steps(inputs)
    for launch in ledger.launches(inputs, field.now, 0, (1.0,) * len(case.forcing.boundary_a), trace):
        launch()
    return ledger.entered()[-1:]


def kinds_of_turns() -> dict[str, np.ndarray]:
    """Classes of materials in blocks and their rates, x and y of the tiles of a plan, and the kinds of turns of a march
    through each, for an axis z with two ends and for one that is periodic."""
    coefficients = random_case((19, 12, 13), MATERIALS._replace(block=(8, 6, 5)), seed=2).coefficients
    classes, columns = coefficients.class_ids, corners(SMALL, coefficients.shape, (False, False, False))
    of_cells = TemporalCellClasses(on_device(classes.ravel()), coefficients.rates)
    laid_out, rates = lay_out_classes(of_cells, SMALL, classes.shape, columns), on_device(coefficients.rates.ravel())
    kinds = [classify_turns(laid_out, rates, SMALL, len(classes), wraps).host() for wraps in (False, True)]
    found = {"classes": classes, "rates": coefficients.rates, "columns": columns, "width": np.array(SMALL.width)}
    return found | {"bounded": kinds[0], "periodic": kinds[1]}


def main(target: str) -> None:
    ways = {"temporal": at_once, "basic": step_by_step}
    parts = {
        f"{way}: {name}: {part}": values
        for name, trial in TRIALS.items()
        for way, run in ways.items()
        for part, values in run(trial).items()
    }
    parts |= {f"kinds: {part}": values for part, values in kinds_of_turns().items()}
    np.savez(target, allow_pickle=False, **parts)


if __name__ == "__main__":
    main(sys.argv[1])
