"""Peak memory of a run: two states, one byte a cell, two snapshots on their way to the disk, and 250 MB.

The compiler is not counted: it takes some 130 MB more in the first run of a new combination of features.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from cli_cases import SMALL

from heatsim.problem import build
from heatsim.runs import state_bytes
from heatsim.scenario import loads

CELLS = 256**3
BOUND = (4 + 4 + 1 + 2 * 4) * CELLS + 250e6
# The peak of this process alone; ru_maxrss would count its parent's too.
SCRIPT = """
from pathlib import Path
from heatsim.cli import main
main(["run", "case.toml", "--quiet", "--force"], standalone_mode=False)
print(next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")))
"""
TWO_MATERIALS = (
    "[materials.steel]\nconductivity = 15.0\ndensity = 7900.0\nheat_capacity = 500.0\n"
    "[[regions]]\nmaterial = 'steel'\nsphere = { center = [0.05, 0.05, 0.05], radius = 0.03 }\n"
)
EDGES = [0.1 * (i / 8) ** 1.5 for i in range(9)]  # no two cells alike
UNEQUAL = "\n".join(f"{axis} = {{ edges = {EDGES} }}" for axis in "xyz")
CASES = {
    "uniform": SMALL.replace('"300 + 100*x"', "300.0")
    + "[boundary]\nx_min = { kind = 'fixed', temperature = 320.0 }\n",
    "two materials": SMALL + TWO_MATERIALS,
    # hardly compressible, so that the files are as large as they get
    "expression": SMALL.replace("300 + 100*x", "300 + 50*sin(100*x)*cos(77*y)*exp(-20*z) + 5*sin(1e9*x*y)"),
}


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").is_file(), reason="reads the peak from Linux's /proc")
@pytest.mark.parametrize(
    "case",
    [
        "uniform",
        "two materials",
        "expression",
    ],
)
def test_a_run_stays_within_its_memory(tmp_path: Path, write: Callable[..., Path], case: str) -> None:
    text = CASES[case].replace("end = 1.0", "end = 0.001\nintegrator = 'euler'")
    text += "[output]\nsnapshots = { count = 2 }\nenergy = { count = 2 }\n"
    command = [sys.executable, "-c", SCRIPT]
    for cells in ("[8, 8, 8]", "[256, 256, 256]"):  # the first compiles
        write(text.replace("[8, 8, 8]", cells))
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=True)
    assert len(list((tmp_path / "outputs" / "case" / "snapshots").iterdir())) == 3
    peak = 1024 * int(done.stdout.split()[1])
    assert peak <= BOUND, f"{peak / 1e6:.0f} MB, {BOUND / 1e6:.0f} MB are allowed"


@pytest.mark.parametrize(
    ("text", "a_cell"),
    [(SMALL, 8), (SMALL + TWO_MATERIALS, 9), (SMALL.replace("cells = [8, 8, 8]", UNEQUAL), 10)],
    ids=["one kind", "some kinds", "many kinds"],
)
def test_two_states_and_the_kinds_of_the_cells_are_counted(text: str, a_cell: int) -> None:
    scenario = loads(text)
    problem = build(scenario)
    assert state_bytes(scenario, problem) == a_cell * problem.grid.cells
