"""Time pictures of a large run: a plane across each axis, an overview, a movie, a page; each verified first.

    python benchmarks/time_pictures.py [--cells 512] [--frames 60]

Each command runs as a process of its own, so its time has the start of Python in it. The budgets, on two cores:

    a plane                       2 s, 300 MB
    an overview                   5 s
    a movie of 60 frames          15 s
    a page of 60 frames of 128^3  10 s, 25 MB on the disk; of 64^3 4 MB
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from heatsim.geometry.grid import CellGrid
from heatsim.store.field_reader import FieldReader
from heatsim.store.folder import RunFolder
from heatsim.store.snapshots import Snapshot, write_geometry, write_snapshot

SCENARIO = 'title = "A ball in air"\n[ambients.air]\ntemperature = 300.0\n'


def field(n: int, frame: int, frames: int) -> np.ndarray:
    """A hot spot that moves along x, with the noise of rounding."""
    a = np.linspace(0.0, 1.0, n, dtype=np.float32)
    z, y, x = a[:, None, None], a[None, :, None], a[None, None, :]
    at = 0.3 + 0.4 * frame / frames
    spot = 300 + 50 * np.exp(-((x - at) ** 2 + (y - 0.5) ** 2 + (z - 0.5) ** 2) / 0.02)
    noise = np.random.default_rng(frame).normal(0.0, 1e-4, (n, n, n)).astype(np.float32)
    return np.where(air(n), np.float32(300.0), np.asarray(spot + noise, np.float32))


def air(n: int) -> np.ndarray:
    """The cells around the ball."""
    a = np.linspace(0.0, 1.0, n) - 0.5
    return a[:, None, None] ** 2 + a[None, :, None] ** 2 + a[None, None, :] ** 2 > 0.2


def make_run(path: Path, n: int, frames: int) -> RunFolder:
    """A run folder as heatsim leaves it, of a ball in air."""
    folder = RunFolder.create(path)
    folder.write_info({"state": "finished", "title": "A ball in air", "temperature_unit": "K"})
    folder.scenario.write_text(SCENARIO)
    grid = CellGrid((n, n, n), (0.0, 0.0, 0.0), (1e-3, 1e-3, 1e-3))
    for frame in range(frames):
        write_snapshot(folder.snapshot(frame), Snapshot(grid, float(frame), frame, field(n, frame, frames)))
    write_geometry(folder.geometry, grid, air(n).astype(np.uint8), ["steel", "air"])
    return folder


def verify(folder: RunFolder, n: int, frames: int) -> None:
    """Planes read alone are those of the field."""
    reader, whole = FieldReader(folder), field(n, 0, frames)
    for axis, plane in (("x", whole[:, :, n // 3]), ("y", whole[:, n // 3]), ("z", whole[n // 3])):
        assert np.array_equal(reader.plane(reader.snapshots[0], "temperature", axis, n // 3), plane), axis


def timed(name: str, *arguments: object) -> None:
    """Run a command and print its seconds and its peak of memory."""
    script = (
        "import sys\nfrom heatsim.cli.main import main\n"
        "try:\n    main(prog_name='heatsim')\n"
        "finally:\n    print(open('/proc/self/status').read().partition('VmHWM:')[2].split()[0], file=sys.stderr)"
    )
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    begun = time.perf_counter()
    command = [sys.executable, "-c", script, *map(str, arguments)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    wall, used = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    print(f"{name:<28} {wall:6.2f} s, of this {used:5.2f} s of CPU, {int(done.stderr.split()[-1]) / 1e3:5.0f} MB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", type=int, default=512, help="cells an axis [512]")
    parser.add_argument("--frames", type=int, default=60, help="frames of the movie [60]")
    asked = parser.parse_args()
    with TemporaryDirectory() as place:
        large = make_run(Path(place) / "large", asked.cells, 1)
        verify(large, asked.cells, 1)
        for axis in "xyz":
            at = asked.cells // 3 * 1e-3
            timed(f"plane across {axis}", "plot", large.path, "--axis", axis, "--at", at, "--output", f"{place}/a.png")
        timed("overview", "plot", large.path, "--overview", "--output", f"{place}/o.png")
        small = make_run(Path(place) / "small", 128, asked.frames)
        verify(small, 128, asked.frames)
        for kind in ("gif", "webp"):
            timed(
                f"movie of {asked.frames}, {kind}", "movie", small.path, "--axis", "z", "--output", f"{place}/m.{kind}"
            )
        for n in (128, 64):
            run = small if n == 128 else make_run(Path(place) / "smaller", n, asked.frames)
            page = Path(place) / f"{n}.html"
            timed(f"view of {asked.frames} of {n}^3", "view", run.path, "--output", page)
            print(f"{'':<28} {page.stat().st_size / 1e6:6.2f} MB on the disk")


if __name__ == "__main__":
    main()
