"""Statistics of parts of the box, found where the field is: what the field says, and what the energy balance says."""

from __future__ import annotations

import tomllib
from typing import Any

import numpy as np
import pytest
import tomli_w
from heatsim_kernels.explicit import STEPPERS
from heatsim_kernels.explicit.enthalpy import NONLINEAR_STEPPERS
from helpers import in_memory
from helpers.in_memory import case
from helpers.pairwise import Row, pairwise
from helpers.scenario_texts import box, fixed, material

from heatsim.solve.integrators import ON_CUDA

LINEAR = {"metal": material(3.0, 2.0, 4.0), "wool": material(0.1)}
MELTING = {
    "metal": {
        "conductivity": {"T": [0.0, 100.0], "value": [3.0, 5.0]},
        "density": 2.0,
        "heat_capacity": 4.0,
        "latent": {"heat": 200.0, "solidus": 20.0, "liquidus": 30.0},
    },
    "wool": material(0.1),
}
PARTS = [{"name": "all", "where": "x >= 0", "count": 1}, {"name": "wool", "material": "wool", "count": 1}]


def allowed(row: Row) -> bool:
    """Whether the kernel takes the body, as far as both are chosen."""
    return not {"body", "kernel"} <= row.keys() or row["kernel"] in BODIES[row["body"]][1]


BODIES = {"linear": (LINEAR, STEPPERS), "melting": (MELTING, NONLINEAR_STEPPERS)}
FACTORS = {"body": tuple(BODIES), "kernel": tuple(STEPPERS), "precision": ("float32", "float64")}
ON_CPU = [{"body": body, "kernel": "cpu", "precision": each} for body in BODIES for each in FACTORS["precision"]]
ON_GPU = [row for row in pairwise(FACTORS, allowed) if row["kernel"] != "cpu"]
WHERE = [
    pytest.param(*row.values(), id=" ".join(row.values()), marks=pytest.mark.gpu if row["kernel"] != "cpu" else ())
    for row in (*ON_CPU, *ON_GPU)
]


def with_parts(text: str, **time: Any) -> str:
    document = tomllib.loads(text) | {"output": {"regions": PARTS}}
    document["time"] |= time
    return tomli_w.dumps(document)


def text_of(materials: dict[str, Any], precision: str) -> str:
    wool = {"material": "wool", **box([0.5, 0.0, 0.2], [1.0, 0.6, 1.0])}
    boundary = {"x_min": fixed(90.0)}
    return case(
        [70, 13, 9], 0.05, materials=materials, regions=[wool], initial="9*y", boundary=boundary, precision=precision
    )


def check(outcome: in_memory.RunOutcome, rounding: float) -> None:
    field = outcome.temperature.reshape(-1).astype(np.float64) - outcome.problem.reference
    rise = np.ptp(field)
    for part in outcome.problem.statistics_regions:
        found, values = outcome.state.totals(part.cells), field[part.cells.indices]
        volumes = part.cells.volumes
        assert [found.low, found.high] == pytest.approx([values.min(), values.max()], abs=rounding * rise)
        assert found.by_volume == pytest.approx(volumes @ values, abs=rounding * rise * volumes.sum())
    everything, initial = outcome.problem.statistics_regions[0], outcome.state.region_heat_at_start[0]
    stored = outcome.energy.stored
    assert abs(stored) > 0
    assert outcome.state.totals(everything.cells).heat - initial == pytest.approx(stored, rel=1e-6)


@pytest.mark.parametrize(("body", "kernel", "precision"), WHERE)
def test_totals_are_those_of_the_field_and_of_the_balance(body: str, kernel: str, precision: str) -> None:
    outcome = in_memory.run(with_parts(text_of(BODIES[body][0], precision)), kernel)
    check(outcome, 1e-6 if precision == "float32" else 1e-12)


@pytest.mark.parametrize(
    "kernel", ["multigrid", pytest.param(ON_CUDA, marks=pytest.mark.gpu)], ids=["multigrid", "multigrid_cuda"]
)
@pytest.mark.parametrize("materials", [LINEAR, MELTING], ids=["linear", "melting"])
def test_totals_of_implicit_steps_are_too(materials: dict[str, Any], kernel: str) -> None:
    text = with_parts(text_of(materials, "float64"), integrator="implicit", step="auto", tolerance=1e-2)
    check(in_memory.run(text, kernel), 1e-12)
