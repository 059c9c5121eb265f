"""Scenarios and ways to call the command line that its tests share."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from click.testing import Result

from helpers.scenario_texts import SMALL

Heatsim = Callable[..., subprocess.CompletedProcess[str]]
Invoke = Callable[..., Result]

# A block of two materials, heated inside, cooled on top, with every kind of output. 12 x 8 x 6 cells.
BLOCK = """\
title = "A test block"
[grid]
cells = [12, 8, 6]
size = [0.06, 0.04, 0.03]
[time]
end = 4.0
integrator = "euler"
[compute]
device = "cpu"
[materials.copper]
conductivity = 398.0
density = 8960.0
heat_capacity = 385.0
[materials.steel]
conductivity = 15.0
density = 7900.0
heat_capacity = 500.0
[[regions]]
material = "copper"
[[regions]]
material = "steel"
box = { lower = [0.0, 0.0, 0.0], upper = [0.02, 0.04, 0.03] }
[initial]
temperature = "300 + 500*x + 100*y"
[boundary]
z_max = { kind = "convection", coefficient = 500.0, ambient = 290.0 }
x_max = { kind = "fixed", temperature = "310 + 5*sin(t)" }
[[sources]]
region = { sphere = { center = [0.03, 0.02, 0.015], radius = 0.01 } }
power = 20.0
[output]
snapshots = { every = 1.0 }
energy = { every = 0.5 }
[[output.slices]]
axis = "z"
at = 0.016
every = 2.0
[[output.probes]]
name = "middle"
at = [0.031, 0.021, 0.016]
every = 1.0
[[output.probes]]
name = "corner"
at = [0.06, 0.04, 0.03]
every = 1.0
"""

# It would go on for hours.
ENDLESS = (
    SMALL.replace("end = 1.0", "end = 1e6\nintegrator = 'euler'")
    + "[output]\nsnapshots = { every = 100.0 }\nenergy = { every = 10.0 }\n"
)


def start(*arguments: object, cwd: Path) -> subprocess.Popen[str]:
    """Start heatsim as a process of its own."""
    command = [
        sys.executable,
        "-c",
        "from heatsim.cli.main import main; main(prog_name='heatsim')",
        *map(str, arguments),
    ]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=cwd, stdout=pipe, stderr=pipe, text=True)


def runner(folder: Path, patience: float) -> Heatsim:
    """Run heatsim in a process of its own, in a folder, to its end, within so many seconds."""

    def call(*arguments: object, timeout: float = patience) -> subprocess.CompletedProcess[str]:
        process = start(*arguments, cwd=folder)
        try:
            out, err = process.communicate(timeout=timeout)
        finally:
            process.kill()
        return subprocess.CompletedProcess([*map(str, arguments)], process.returncode, out, err)

    return call


def wait_for(condition: Callable[[], bool], process: subprocess.Popen[str], patience: float) -> None:
    """Wait for a condition, at most so many seconds, while a process runs."""
    deadline = time.monotonic() + patience
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)


def contents(folder: Path) -> dict[str, bytes]:
    """All files under a folder with their bytes, by relative name."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def messages(stderr: str) -> list[str]:
    """The lines on stderr, without that which announces a compilation: it depends on what was compiled before."""
    return [line for line in stderr.splitlines() if not line.startswith("compiling kernels")]
