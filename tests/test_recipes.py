"""The recipes of docs/architecture.md, followed literally in copies of the tree, and run.

Each adds something new; the number of source files that it touches is what keeps the rooms apart.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import h5py
import numpy as np
import pytest
import test_imports
from helpers.in_turn import in_turn

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "architecture.md"

# Recipe -> source files that it may touch, at most.
FILES = {
    "boundary-kind": 3,
    "cell-term": 2,
    "face-term": 2,
    "integrator": 3,
    "one-step-kernel": 2,
    "recorder": 3,
    "derived-field": 3,
    "material-property": 4,
}

SLAB = """\
grid = { cells = [8, 3, 2], size = [0.08, 0.03, 0.02] }
time = { end = 400.0, integrator = "half-euler" }
compute = { kernel = "cpu", precision = "float64" }
materials.foam = { conductivity = 2.0, density = 1000.0, heat_capacity = 500.0, porosity = 0.25 }
regions = [{ material = "foam" }]
initial = { temperature = 300.0 }
boundary.x_min = { kind = "flux", flux = 1000.0 }
boundary.x_max = { kind = "plate", resistance = 0.02, temperature = 280.0 }
output = { snapshots = { count = 1 }, fields = ["heat_flux", "flux_magnitude"], extremes = { count = 4 } }
"""
# A body from which a sink takes rho c T / 100 s.
SINK = """\
grid = { cells = [2, 2, 2], size = [0.1, 0.1, 0.1] }
time = { end = 50.0, integrator = "euler", step = 0.1 }
compute = { precision = "float64" }
materials.foam = { conductivity = 2.0, density = 1000.0, heat_capacity = 500.0 }
regions = [{ material = "foam" }]
initial = { temperature = 300.0 }
sources = [{ sink = { rate = 5000.0 } }]
output = { snapshots = { count = 1 } }
"""
# A bar in which heat is conducted, and carried from a warm inflow on to the outflow; nothing else passes its sides.
FLOW = """\
grid = { cells = [12, 2, 2], size = [0.12, 0.02, 0.02] }
time = { end = 300.0, integrator = "euler" }
compute = { precision = "float64" }
materials.foam = { conductivity = 2.0, density = 1000.0, heat_capacity = 500.0 }
regions = [{ material = "foam" }]
initial = { temperature = "300 + 100*x" }
flow = { rate = 150.0, inflow = 350.0 }
output = { snapshots = { count = 2 } }
"""
# The same without what the recipes add: a plate is convection with 1/R, pores leave a part of k and of the density.
PLAIN = (
    SLAB.replace("half-euler", "euler")
    .replace("conductivity = 2.0, density = 1000.0", "conductivity = 1.5, density = 750.0")
    .replace(", porosity = 0.25", "")
    .replace('"plate", resistance = 0.02, temperature', '"convection", coefficient = 50.0, ambient')
    .replace(', "flux_magnitude"], extremes', "], energy")  # at the same times
)

# One step of a kernel on the simulator beside the CPU's, of a field with a boundary of each kind.
ONE_STEP = """\
import sys
import numpy as np
from heatsim.studies.bench.stencil.problems import STEP, cases
from heatsim_kernels.explicit import STEPPERS

case = next(each for each in cases(1) if min(each.field.shape) > 3)
found = []
for kernel in ("cpu", sys.argv[1]):
    stepper = STEPPERS[kernel](case.coefficients, np.dtype("float32"))
    stepper.field.put(case.field)
    stepper.advance(STEP, 2, case.forcing)
    found.append(np.array(stepper.field.host()))
assert found[0].tobytes() == found[1].tobytes() and np.ptp(found[0]) > 0
print("equal bits")
"""


# A run that ends half-way with a checkpoint.
STOPPED = """\
import sys
import heatsim

heatsim.run(sys.argv[1], sys.argv[2], on_progress=lambda progress: progress.time < 100.0)
"""


class RecipeBlock(NamedTuple):
    """A code block of a recipe: the file that it makes, or changes."""

    path: str
    text: str
    changes: bool


def recipe(name: str) -> list[RecipeBlock]:
    page = PAGE.read_text(encoding="utf-8")
    text = page.split(f"<!-- recipe:{name} -->")[1].split("\n### ")[0]
    found = re.findall(r"```(python|diff)\n# (\S+)\n(.*?)```", text, flags=re.DOTALL)
    return [RecipeBlock(path, body, kind == "diff") for kind, path, body in found]


def hunks(diff: str) -> Iterator[tuple[str, str]]:
    """Each part of a diff as the text before and the text after."""
    for part in re.split(r"^@@\n", diff, flags=re.MULTILINE):
        lines = part.splitlines(keepends=True)
        assert all(line[0] in " +-\n" for line in lines), part
        yield (
            "".join(line[1:] if line != "\n" else line for line in lines if line[0] != "+"),
            "".join(line[1:] if line != "\n" else line for line in lines if line[0] != "-"),
        )


def follow(name: str, tree: Path) -> None:
    for block in recipe(name):
        path = tree / block.path
        if not block.changes:
            assert not path.exists()
            path.write_text(block.text, encoding="utf-8")
            continue
        text = path.read_text(encoding="utf-8")
        for before, after in hunks(block.text):
            assert text.count(before) == 1, f"{name}: {block.path} does not have, once:\n{before}"
            text = text.replace(before, after)
        path.write_text(text, encoding="utf-8")


def copy_of_tree(folder: Path) -> Path:
    for name in ("heatsim", "kernels", "scenarios"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "data"))
    return folder


def run(tree: Path, *arguments: object, simulated: bool = False) -> str:
    done = start(tree, *arguments, simulated=simulated)
    assert done.returncode == 0, done.stderr
    return done.stdout


def start(tree: Path, *arguments: object, simulated: bool = False) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join(map(str, (tree, tree / "kernels")))
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
    if simulated:
        environment |= {"NUMBA_ENABLE_CUDASIM": "1", "PYTHONWARNINGS": "ignore::RuntimeWarning"}
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, env=environment, cwd=tree, capture_output=True, text=True, timeout=1800, check=False)


@pytest.fixture(scope="module")
def extended(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the tree with all that the recipes add but the kernel."""
    tree = copy_of_tree(tmp_path_factory.mktemp("extended"))
    for name in FILES:
        if name != "one-step-kernel":
            follow(name, tree)
    return tree


@pytest.fixture(scope="module")
def run_folder(extended: Path) -> Path:
    (extended / "slab.toml").write_text(SLAB, encoding="utf-8")
    run(extended, "-m", "heatsim", "run", "slab.toml", "--quiet")
    return extended / "outputs" / "slab"


def test_paths_that_the_page_names_are_there() -> None:
    page = PAGE.read_text(encoding="utf-8").split("### Where is ...?")[1].split("## Recipes")[0]
    parts = re.split(r"Paths of `([\w/]+)`:", page)
    named = [(base, path) for base, text in zip(parts[1::2], parts[2::2], strict=True) for path in paths_in(text)]
    assert len(named) > 40
    folders = {"heatsim/": ROOT / "heatsim", "kernels/heatsim_kernels/": ROOT / "kernels" / "heatsim_kernels"}
    missing = [
        each
        for each in named
        if not any((folder / each[1]).exists() for folder in (folders[each[0]], ROOT, ROOT / "kernels"))
    ]
    assert missing == []


def paths_in(text: str) -> list[str]:
    return re.findall(r"`([\w/]+(?:\.py|/))`", text)


@in_turn("name", FILES)
def test_a_recipe_touches_few_source_files(name: str) -> None:
    blocks = recipe(name)
    paths = {block.path for block in blocks}
    assert 0 < len(paths) <= FILES[name]
    assert all(path.startswith(("heatsim/", "kernels/")) for path in paths)


def test_a_new_boundary_kind_integrator_and_property_compute_what_they_say(run_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "plain.toml").write_text(PLAIN, encoding="utf-8")
    run(ROOT, "-m", "heatsim", "run", tmp_path / "plain.toml", "--output", tmp_path / "plain", "--quiet")
    fields = []
    for folder in (run_folder, tmp_path / "plain"):
        with h5py.File(sorted((folder / "snapshots").glob("*.h5"))[-1]) as file:
            fields.append(np.asarray(file["temperature"]))
    assert np.ptp(fields[0]) > 5.0
    np.testing.assert_allclose(*fields, rtol=0, atol=0.02 * np.ptp(fields[0]))  # Euler with half the step
    info = json.loads((run_folder / "run.json").read_text(encoding="utf-8"))
    other = json.loads((tmp_path / "plain" / "run.json").read_text(encoding="utf-8"))
    assert (info["integrator"], info["steps"]) == ("half-euler", 2 * other["steps"])
    assert abs(info["energy"]["residual"]) < 1e-9 * sum(map(abs, info["energy"]["faces"].values()))


def test_a_new_term_takes_its_heat_and_the_ledger_has_it(extended: Path) -> None:
    added = [line for block in recipe("cell-term") if block.changes for line in block.text.splitlines()]
    assert sum(line.startswith("+") for line in added) <= 2
    (extended / "sink.toml").write_text(SINK, encoding="utf-8")
    run(extended, "-m", "heatsim", "run", "sink.toml", "--quiet")
    folder = extended / "outputs" / "sink"
    with h5py.File(sorted((folder / "snapshots").glob("*.h5"))[-1]) as file:
        np.testing.assert_allclose(np.asarray(file["temperature"]), 300.0 * (1.0 - 0.1 / 100.0) ** 500, rtol=1e-12)
    energy = json.loads((folder / "run.json").read_text(encoding="utf-8"))["energy"]
    assert energy["sources"] == pytest.approx(5e5 * 1e-3 * 300.0 * (0.999**500 - 1.0), rel=1e-9)
    assert abs(energy["residual"]) < 1e-9 * abs(energy["sources"])
    done = start(extended, "-m", "heatsim", "run", "sink.toml", "--set", "time.integrator=rkl2")
    assert done.returncode == 2
    assert "source that depends on temperature" in done.stderr


def test_a_new_flow_carries_heat_and_the_ledger_has_it_by_side(extended: Path) -> None:
    (extended / "flow.toml").write_text(FLOW, encoding="utf-8")
    run(extended, "-m", "heatsim", "run", "flow.toml", "--quiet")
    folder = extended / "outputs" / "flow"
    fields = []
    for path in sorted((folder / "snapshots").glob("*.h5")):
        with h5py.File(path) as file:
            fields.append(np.asarray(file["temperature"]))
    info = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    T, dt, capacity, entered = fields[0][0, 0].copy(), 300.0 / info["steps"], 500e3 * 0.01, np.zeros(2)
    for _ in range(info["steps"]):
        carried = 150.0 * np.concatenate(([350.0], T))  # W/m2, of the cell upstream
        passed = carried - np.concatenate(([0.0], 2.0 * np.diff(T) / 0.01, [0.0]))
        entered += dt * 4e-4 * (np.array([carried[0], -carried[-1]]) + 150.0 * np.array([-350.0, 350.0]))
        T -= dt / capacity * np.diff(passed)
    np.testing.assert_allclose(fields[-1], np.broadcast_to(T, (2, 2, 12)), rtol=1e-12)
    assert np.ptp(T) > 5.0
    energy = info["energy"]
    assert energy["faces"]["x_min"] == pytest.approx(entered[0], abs=1e-9 * abs(entered[1]))
    assert energy["faces"]["x_max"] == pytest.approx(entered[1], rel=1e-9)
    assert energy["sources"] == 0.0
    assert abs(energy["residual"]) < 1e-12 * energy["stored"]


@in_turn("integrator", ["rkl2", "implicit", "steady"])
def test_what_cannot_take_a_new_flow_refuses_it(extended: Path, integrator: str) -> None:
    text = FLOW.replace("end = 300.0, ", "").replace("output = { snapshots = { count = 2 } }\n", "")
    text = text if integrator == "steady" else FLOW
    (extended / "refused.toml").write_text(text.replace('"euler"', f'"{integrator}"'), encoding="utf-8")
    done = start(extended, "-m", "heatsim", "run", "refused.toml")
    assert done.returncode == 2
    assert f"{integrator} takes no flow: its heat follows one side" in done.stderr
    assert 'integrator = "euler" takes it' in done.stderr


def test_a_new_flow_goes_on_with_the_same_bits_and_auto_takes_it(extended: Path) -> None:
    whole, parts = (extended / "outputs" / name for name in ("whole", "parts"))
    (extended / "auto.toml").write_text(FLOW.replace(', integrator = "euler"', ""), encoding="utf-8")
    run(extended, "-m", "heatsim", "run", "auto.toml", "--quiet", "--output", whole)
    assert json.loads((whole / "run.json").read_text(encoding="utf-8"))["integrator"] == "euler"
    run(extended, "-c", STOPPED, "auto.toml", parts)
    run(extended, "-m", "heatsim", "resume", parts, "--quiet")
    found = [(folder / "run.json", sorted((folder / "snapshots").glob("*.h5"))[-1]) for folder in (whole, parts)]
    energies = [json.loads(info.read_text(encoding="utf-8"))["energy"] for info, _ in found]
    fields = []
    for _, path in found:
        with h5py.File(path) as file:
            fields.append(np.asarray(file["temperature"]))
    assert energies[0] == energies[1]
    assert fields[0].tobytes() == fields[1].tobytes()


def test_a_new_recorder_and_a_derived_field_are_in_the_results(run_folder: Path) -> None:
    rows = np.loadtxt(run_folder / "extremes.csv", delimiter=",", skiprows=1)
    with h5py.File(sorted((run_folder / "snapshots").glob("*.h5"))[-1]) as file:
        temperature, magnitude = np.asarray(file["temperature"]), np.asarray(file["flux_magnitude"])
        vector = [np.asarray(file[f"heat_flux_{axis}"]) for axis in "xyz"]
        assert file["flux_magnitude"].attrs["units"] == "W m-2"
    assert rows[:, 0].tolist() == [0.0, 100.0, 200.0, 300.0, 400.0]
    assert rows[-1, 1:].tolist() == [temperature.min(), temperature.max()]
    np.testing.assert_allclose(magnitude, np.sqrt(sum(values**2 for values in vector)), rtol=1e-12)
    assert magnitude.max() > 100.0


def test_what_is_added_keeps_the_rooms_apart(extended: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trees = {"heatsim": extended / "heatsim", "heatsim_kernels": extended / "kernels" / "heatsim_kernels"}
    monkeypatch.setattr(test_imports, "TREES", trees)
    test_imports.test_imports_go_down_only_and_libraries_have_owners()
    test_imports.test_no_rooms_import_each_other_in_a_circle()
    test_imports.test_no_modules_import_each_other_in_a_circle()


def test_what_is_new_is_in_the_schema_and_on_the_reference_page(extended: Path) -> None:
    schema = run(extended, "-m", "heatsim", "schema")
    assert all(
        f'"{name}"' in schema
        for name in ("Plate", "half-euler", "extremes", "flux_magnitude", "porosity", "Sink", "Flow")
    )
    assert "Faces behind a plate" in run(extended, "-m", "heatsim", "schema", "--markdown")


def test_a_new_kernel_gives_the_bits_of_the_cpu(tmp_path: Path) -> None:
    tree = copy_of_tree(tmp_path)
    follow("one-step-kernel", tree)
    (tree / "one_step.py").write_text(ONE_STEP, encoding="utf-8")
    assert "equal bits" in run(tree, "one_step.py", "plain", simulated=True)
    assert '"plain"' in run(tree, "-m", "heatsim", "schema")
