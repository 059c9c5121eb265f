"""Features of a scenario together: every pair of kernel, integrator, precision, faces, body, grid and sources once.

What each feature does is tested on the CPU, in the files beside this one. Here runs of several features at once close
their energy ledger, and give on a GPU what the CPU gives: explicit steps its bits, implicit steps its field within the
tolerance. Explicit steps on the CPU are what the GPU is compared with, so that they are no kernel of their own here.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tomli_w
from heatsim_kernels.explicit import CUDA_STEPPERS
from heatsim_kernels.explicit.enthalpy import NONLINEAR_STEPPERS
from helpers import in_memory
from helpers.in_memory import case, problem_of
from helpers.pairwise import Row, missing_pairs, pairwise
from helpers.scenario_texts import INSULATED, PERIODIC, box, convection, fixed, flux, material

from heatsim.solve.integrators import ON_CUDA

RADIATION = {"kind": "radiation", "emissivity": 0.8, "ambient": 400.0}
FACES = {
    "insulated": (INSULATED, INSULATED),
    "fixed": (fixed(15.0), fixed("30*sin(40*t) + 30*z*x + 10*y")),
    "flux": (flux(-250.0), flux("400*cos(100*t)*(x + y + z)")),
    "convection": (convection(30.0, -5.0), convection("20 + 30*x + 20*y", "20*exp(-30*t)")),
    "radiation": (RADIATION, RADIATION | {"ambient": "300 + 100*sin(9*t)"}),
    "periodic": (PERIODIC, PERIODIC),
}
METAL, WOOL = material([2.0, 1.0, 0.5], 2.0, 1.5), material(0.4, 1.0, 0.5)
FOLLOWING = METAL | {"conductivity": {"T": [-50.0, 500.0], "value": [1.0, 3.0]}}
MELTING = FOLLOWING | {"latent": {"heat": 40.0, "solidus": 35.0, "liquidus": 45.0}}
PAINTED = [{"material": "wool", "sphere": {"center": [0.35, 0.25, 0.2], "radius": 0.2}}]
AIR = [{"material": "air", "sphere": {"center": [0.35, 0.25, 0.2], "radius": 0.15}}]
BODIES: dict[str, tuple[dict[str, Any], list[dict[str, Any]], dict[str, Any]]] = {  # materials, regions, more sections
    "one material": ({"metal": METAL}, [], {}),
    "two materials": ({"metal": METAL, "wool": WOOL}, PAINTED, {}),
    "a contact": (
        {"metal": METAL, "wool": WOOL},
        PAINTED,
        {"contacts": [{"between": ["metal", "wool"], "resistance": 0.05}]},
    ),
    "an ambient": ({"metal": METAL}, AIR, {"ambients": {"air": {"temperature": 60.0, "coefficient": 20.0}}}),
    "k(T)": ({"metal": FOLLOWING, "wool": WOOL}, PAINTED, {}),
    "melting": ({"metal": MELTING}, [], {}),
}
HEATER = box((0.1, 0.1, 0.1), (0.45, 0.35, 0.25))
SOURCES: dict[str, list[dict[str, Any]]] = {
    "none": [],
    "power in time": [{"power": "3 + 2*sin(300*t)", "region": HEATER}],
    "a field": [{"power_density": "90*x*exp(-50*t)"}],
    "a field that moves": [{"power_density": "500*exp(-((x - 20*t)**2 + (y - 0.25)**2)/0.01)"}],
    "a beam": [{"beam": {"kind": "gaussian", "power": 3.0, "radius": 0.06, "depth": 0.1, "path": "scan.csv"}}],
}
EDGES = (np.linspace(0.0, 1.0, 17) * (0.5 + 0.5 * np.linspace(0.0, 1.0, 17)) * 0.7).tolist()
GRIDS = {"equal": {}, "unequal": {"x": {"edges": EDGES}}}
SIZE = (0.7, 0.5, 0.4)
FACTORS = {
    "kernel": (*CUDA_STEPPERS, "multigrid", ON_CUDA),
    "body": tuple(BODIES),
    "x": tuple(FACES),
    "y": tuple(FACES),
    "z": tuple(FACES),
    "sources": tuple(SOURCES),
    "integrator": ("euler", "rkl2", "implicit"),
    "precision": ("float64", "float32"),
    "grid": tuple(GRIDS),
}


def allowed(row: Row) -> bool:
    """Implicit steps have kernels of their own; what depends on temperature takes two integrators and some kernels."""
    kernel, integrator = row.get("kernel"), row.get("integrator")
    if kernel and integrator and (integrator == "implicit") != (kernel in ("multigrid", ON_CUDA)):
        return False
    if row.get("body") in ("k(T)", "melting") or "radiation" in (row.get(axis) for axis in "xyz"):
        return integrator != "rkl2" and kernel in (None, *NONLINEAR_STEPPERS, "multigrid", ON_CUDA)
    return True


ROWS = pairwise(FACTORS, allowed)


def text_of(row: Row, folder: Path) -> str:
    materials, regions, more = BODIES[row["body"]]
    boundary = {
        f"{axis}_{end}": face for axis in "xyz" for end, face in zip(("min", "max"), FACES[row[axis]], strict=True)
    }
    (folder / "scan.csv").write_text("0, 0.2, 0.2\n0.02, 0.5, 0.3\n")
    sources = [
        {"beam": each["beam"] | {"path": str(folder / "scan.csv")}} if "beam" in each else each
        for each in SOURCES[row["sources"]]
    ]
    text = case(
        (16, 12, 7),
        0.01,
        size=SIZE,
        materials=materials,
        regions=regions,
        initial="20 + 60*exp(-((x-0.5)**2 + (y-0.1)**2 + (z-0.3)**2)/0.02)",
        boundary=boundary,
        sources=sources,
        precision=row["precision"],
        integrator=row["integrator"],
    )
    document = tomllib.loads(text) | more
    document["grid"] |= GRIDS[row["grid"]]
    return tomli_w.dumps(document)


def marked(row: Row) -> Any:
    marks = () if row["kernel"] == "multigrid" else pytest.mark.gpu
    return pytest.param(row, marks=marks, id=", ".join(map(str, row.values())))


def test_every_pair_of_features_occurs() -> None:
    assert missing_pairs(ROWS, FACTORS, allowed) == []
    assert len(ROWS) < 90


@pytest.mark.parametrize("row", [marked(row) for row in ROWS])
def test_features_together_close_the_ledger_and_give_on_a_gpu_what_the_cpu_gives(row: Row, tmp_path: Path) -> None:
    text = text_of(row, tmp_path)
    done = in_memory.run(text, row["kernel"])
    assert np.isfinite(done.temperature).all()
    assert done.energy.moved > 0
    assert abs(done.energy.relative_residual) < (1e-9 if row["precision"] == "float64" else 1e-3)
    if row["kernel"] == "multigrid":
        return
    expected = in_memory.run(text, "multigrid" if row["kernel"] == ON_CUDA else "cpu")
    rise = np.ptp(expected.temperature)
    if row["kernel"] == ON_CUDA:
        np.testing.assert_allclose(done.temperature, expected.temperature, rtol=0, atol=1e-3 * rise)
    else:
        assert done.temperature.tobytes() == expected.temperature.tobytes()
    for face, heat in expected.energy.faces.items():
        assert done.energy.faces[face] == pytest.approx(heat, rel=1e-3, abs=1e-5 * expected.energy.moved)


def test_every_scenario_of_several_features_is_valid(tmp_path: Path) -> None:
    for row in ROWS:
        if row["kernel"] != "multigrid":  # which are run
            assert problem_of(text_of(row, tmp_path)).largest_step > 0
