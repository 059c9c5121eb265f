"""Implicit steps and the steady state on a real GPU: as on the CPU, with the orders promised, the same bits twice."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import numpy as np
import pytest
import tomli_w
from click.testing import CliRunner
from helpers.scenario_texts import PERIODIC, box, convection, fixed, flux, material
from integrator_cases import ORDERS, case, equal_steps, field, run

from heatsim.cli.main import main
from heatsim.solve.integrators import ON_CUDA
from heatsim.solve.integrators.tableaus import BACKWARD_EULER, TR_BDF2, Tableau

pytestmark = pytest.mark.gpu

VARYING = case(
    [8, 6, 5],
    0.2,
    materials={"a": material(1.0), "b": material(0.1)},
    regions=[{"material": "b", **box([0.5, 0, 0], [1, 1, 1])}],
    initial="x*(1 - x) + y",
    boundary={"x_min": convection("2 + sin(5*t)", "sin(9*t)"), "z_max": flux(0.5), "y_max": fixed("1 + 3*t*t")},
    sources=[{"power": "5*cos(8*t)", "region": box([0, 0, 0], [0.5, 0.5, 0.5])}],
)
BLOCK = case(
    [37, 30, 21],
    materials={"metal": material(230.0), "wool": material(0.03)},
    regions=[{"material": "wool", "where": "x + y > 1.1"}],
    initial="20 + 50*x",
    boundary={"z_min": convection(25.0, 5.0), "x_max": fixed("40 + 3*z"), "y_min": PERIODIC, "y_max": PERIODIC},
    sources=[{"power": 70.0, "region": box([0, 0, 0], [0.4, 0.4, 0.4])}, {"power_density": "9*x"}],
)
HOLLOW = tomli_w.dumps(
    tomllib.loads(BLOCK)
    | {
        "ambients": {
            "room": {"temperature": -30.0, "coefficient": 80.0},
            "core": {"temperature": 90.0, "resistance": 0.1},
        },
        "regions": [
            {"material": "metal"},
            {"material": "wool", "where": "x + y > 1.1"},
            {"material": "room", "where": "x > 0.7 and z > 0.6"},
            {"material": "core", **box([0.2, 0.3, 0.2], [0.5, 0.6, 0.5])},
        ],
    }
)


@pytest.mark.parametrize("tableau", [BACKWARD_EULER, TR_BDF2], ids=lambda tableau: tableau.name)
def test_the_error_falls_with_the_order_of_the_method_on_a_gpu(tableau: Tableau) -> None:
    exact = field(equal_steps(VARYING, 400, TR_BDF2))
    counts = (16, 32) if ORDERS[tableau.name] == 2 else (40, 80)
    errors = [np.abs(field(equal_steps(VARYING, n, tableau, kernel=ON_CUDA)) - exact).max() for n in counts]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(ORDERS[tableau.name], abs=0.1)


@pytest.mark.parametrize(("text", "precision"), [(BLOCK, "float32"), (BLOCK, "float64"), (HOLLOW, "float64")])
@pytest.mark.parametrize("integrator", ["implicit", "steady"])
def test_a_gpu_gives_what_the_cpu_gives(integrator: str, text: str, precision: str) -> None:
    text = text.replace("float64", precision)
    tolerance = 1e-3 if integrator == "implicit" else 1e-8
    cpu, gpu = (
        run(text, kernel=kernel, integrator=integrator, tolerance=tolerance) for kernel in ("multigrid", ON_CUDA)
    )
    rise = np.ptp(field(cpu))
    np.testing.assert_allclose(field(gpu), field(cpu), rtol=0, atol=(1e-4 if integrator == "implicit" else 1e-6) * rise)
    assert (
        abs(gpu.solver_statistics.iterations - cpu.solver_statistics.iterations)
        <= 2 + cpu.solver_statistics.iterations // 10
    )
    assert abs(gpu.energy.relative_residual) < 1e-9
    for face, heat in cpu.energy.faces.items():
        assert gpu.energy.faces[face] == pytest.approx(heat, rel=1e-3, abs=1e-6 * cpu.energy.moved)
    for room, heat in cpu.energy.ambients.items():
        assert gpu.energy.ambients[room] == pytest.approx(heat, rel=1e-3, abs=1e-6 * cpu.energy.moved)
        assert abs(heat) > 0
    if integrator == "steady":
        assert gpu.solver_statistics.residuals[-1] < 1e-7
    for axis, index in (("x", 3), ("y", 0), ("z", 20)):
        assert np.array_equal(gpu.plane(axis, index), np.moveaxis(field(gpu), "zyx".index(axis), 0)[index])
    fetch = gpu.capture()
    assert fetch is not None
    arriving, found = fetch(np.empty_like(field(gpu))), np.empty_like(field(gpu))
    with arriving.on_its_way():
        arriving.read(tuple(slice(0, size) for size in found.shape), found)
    assert np.array_equal(found, field(gpu))


def test_backward_euler_takes_the_same_steps_on_a_gpu() -> None:
    cpu, gpu = (run(BLOCK, kernel=kernel, method="backward-euler", tolerance=2e-2) for kernel in ("multigrid", ON_CUDA))
    assert gpu.step == pytest.approx(cpu.step, rel=0.05)
    np.testing.assert_allclose(field(gpu), field(cpu), rtol=0, atol=2e-3 * np.ptp(field(cpu)))


@pytest.mark.parametrize("integrator", ["implicit", "steady"])
def test_the_same_run_on_a_gpu_gives_the_same_bits(integrator: str) -> None:
    first, second = (run(BLOCK, kernel=ON_CUDA, integrator=integrator) for _ in range(2))
    assert field(first).tobytes() == field(second).tobytes()
    assert (first.step, first.solver_statistics) == (second.step, second.solver_statistics)


def test_a_run_by_command_solves_on_the_gpu(tmp_path: Path) -> None:
    scenario = tmp_path / "case.toml"
    scenario.write_text(BLOCK.replace('device = "cpu"', 'device = "cuda"'))
    for integrator in ("steady", "implicit"):
        options = ["--set", f"time.integrator={integrator}", "--output", str(tmp_path / integrator)]
        done = CliRunner().invoke(main, ["run", str(scenario), *options])
        assert done.exit_code == 0, done.output
        info = json.loads((tmp_path / integrator / "run.json").read_text())
        assert (info["device"], info["kernel"]) == ("cuda", ON_CUDA)
        assert info["iterations"] > 0
    assert CliRunner().invoke(main, ["run", str(scenario), "--dry-run"]).exit_code == 0
