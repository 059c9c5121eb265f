"""Peak memory of a run: two states, one byte a cell, two snapshots on their way to the disk, and 250 MB; more for the
fields that are asked for.

Of the 250 MB, 110 are for pages of library files. How many of these are mapped depends on the file system, by some 40
MB, so the peak is measured without them.

The compiler is not counted: it takes some 130 MB more in the first run of a new combination of features.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
from helpers.commands import SMALL, Invoke
from helpers.in_turn import in_turn

from heatsim.output.recorders import make_recorders
from heatsim.output.recorders.writer import Writer
from heatsim.problem import build_problem
from heatsim.scenario import loads
from heatsim.simulation.estimates import run_bytes, state_bytes
from heatsim.solve.integrators import make_field
from heatsim.solve.state import State
from heatsim.store.folder import RunFolder

CELLS = 192**3
BOUND = (4 + 4 + 1 + 2 * 4) * CELLS + 140e6
# The peak of this process alone; ru_maxrss would count its parent's too.
SCRIPT = """
from pathlib import Path
from heatsim.cli.main import main
main(["run", "case.toml", "--quiet", "--force"], standalone_mode=False)
lines = Path("/proc/self/status").read_text().splitlines()
print({line.partition(":")[0]: int(line.split()[1]) for line in lines if line.startswith(("VmHWM", "RssFile"))})
"""
TWO_MATERIALS = (
    "[materials.steel]\nconductivity = 15.0\ndensity = 7900.0\nheat_capacity = 500.0\n"
    "[[regions]]\nmaterial = 'steel'\nsphere = { center = [0.05, 0.05, 0.05], radius = 0.03 }\n"
)
EDGES = [0.1 * (i / 8) ** 1.5 for i in range(9)]  # no two cells alike
UNEQUAL = "\n".join(f"{axis} = {{ edges = {EDGES} }}" for axis in "xyz")
# Hardly compressible, so that files are as large as they get.
EXPRESSION = SMALL.replace("300 + 100*x", "300 + 50*sin(100*x)*cos(77*y)*exp(-20*z) + 5*sin(1e9*x*y)")


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").is_file(), reason="reads the peak from Linux's /proc")
def test_a_run_stays_within_its_memory(tmp_path: Path, write: Callable[..., Path]) -> None:
    text = (EXPRESSION + TWO_MATERIALS).replace("end = 1.0", "end = 0.001\nintegrator = 'euler'")
    text += "[output]\nsnapshots = { count = 1 }\nenergy = { count = 2 }\n"
    command = [sys.executable, "-c", SCRIPT]
    for cells in ("[64, 64, 64]", "[192, 192, 192]"):  # the first compiles what a large grid uses
        write(text.replace("[8, 8, 8]", cells))
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=1800, check=True)
    assert len(list((tmp_path / "outputs" / "case" / "snapshots").iterdir())) == 2
    found = ast.literal_eval(done.stdout)  # kB
    peak = 1024 * (found["VmHWM"] - found["RssFile"])
    assert peak <= BOUND, f"{peak / 1e6:.0f} MB, {BOUND / 1e6:.0f} MB are allowed"


@in_turn(
    ("text", "a_cell"),
    [(SMALL, 8), (SMALL + TWO_MATERIALS, 9), (SMALL.replace("cells = [8, 8, 8]", UNEQUAL), 10)],
    ids=["one kind", "some kinds", "many kinds"],
)
def test_two_states_and_the_kinds_of_the_cells_are_counted(text: str, a_cell: int) -> None:
    scenario = loads(text)
    problem = build_problem(scenario)
    assert state_bytes(scenario, problem) == a_cell * problem.grid.cells


@in_turn("command", [("run",), ("run", "--dry-run"), ("validate",)])
@in_turn("cells", ["[68719476736, 1, 1]", "[4096, 4096, 4096]"])
def test_a_grid_that_no_memory_holds_is_refused_at_its_cells(
    write: Callable[..., Path], invoke: Invoke, command: tuple[str, ...], cells: str
) -> None:
    write(SMALL.replace("[8, 8, 8]", cells))
    done = invoke(command[0], "case.toml", *command[1:])
    assert done.exit_code == 2
    assert re.search(r"case\.toml:2:1: grid\.cells: .* [0-9.]+ GB.* there are [0-9.]+ GB of memory", done.stderr)


def allocated_and_counted(text: str, folder: Path) -> tuple[int, float]:
    """Bytes that arrays take at most while a state is set up and all that is wanted of it is recorded, and the estimate
    for the whole run."""
    problem = build_problem(loads(text.replace("[8, 8, 8]", "[48, 48, 48]")))
    integrator = problem.scenario.time.integrator
    field, writer = make_field(problem, "multigrid" if integrator == "implicit" else "cpu"), Writer()
    recorders = make_recorders(problem, RunFolder.create(folder, force=True), writer)
    tracemalloc.start()
    try:
        state = State(problem, field)
        for recorder in recorders:
            recorder.record(state)
        writer.close()
        return tracemalloc.get_traced_memory()[1], run_bytes(problem)
    finally:
        tracemalloc.stop()


PAST = "['peak_temperature', 'time_above', 'cooling_rate']\ntime_above = 310.0\ncooling_through = 305.0"
CONTACT = "[[contacts]]\nbetween = ['copper', 'steel']\nresistance = 1e-3\n"
MELTING = "heat_capacity = 385.0\nlatent = { heat = 1e5, solidus = 340.0, liquidus = 350.0 }"


@in_turn(
    ("text", "fields"),
    [
        (EXPRESSION, PAST),
        (EXPRESSION + "[compute]\nprecision = 'float64'\n", PAST),
        (EXPRESSION.replace("end = 1.0", "end = 1.0\nintegrator = 'implicit'"), "['peak_temperature']"),
        (EXPRESSION, "['heat_flux', 'gradient']"),
        (EXPRESSION + TWO_MATERIALS + CONTACT, "['heat_flux']"),
        (EXPRESSION.replace("heat_capacity = 385.0", MELTING), "['melted_fraction', 'heat_flux']"),
    ],
    ids=["past", "past in float64", "peak of a solver", "vectors", "flux through contacts", "melting"],
)
def test_fields_that_are_asked_for_are_counted_as_they_are_allocated(tmp_path: Path, text: str, fields: str) -> None:
    asked = f"{text}[output]\nfields = {fields}\n"
    for each in (text, asked):
        allocated_and_counted(each, tmp_path / "compiled")
    before, after = allocated_and_counted(text, tmp_path / "plain"), allocated_and_counted(asked, tmp_path / "asked")
    allocated, counted = after[0] - before[0], after[1] - before[1]
    chunk = 48**3 * 8  # that is being packed, which counts with the threads that do it
    assert 0.7 * counted < allocated < 1.03 * counted + chunk
