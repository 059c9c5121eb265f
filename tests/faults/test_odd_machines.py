"""Machines that lack what others have: a home, a cache that can be written, open streams, a locale with all names."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from helpers.scenario_texts import SMALL

from heatsim.store.snapshots import read_snapshot

HEATSIM = "from heatsim.cli.main import main; main(prog_name='heatsim')"
# The user of a process that has no entry in the list of users, as in many containers.
NO_HOME = f"import pwd; pwd.getpwuid = lambda user: {{}}[user]; {HEATSIM}"
PLAIN = ("HOME", "XDG_CACHE_HOME", "NUMBA_CACHE_DIR", "PYTHONUTF8", "LANG", "PYTHONIOENCODING")
COPY = """
import numpy as np
from heatsim_kernels.device.cpu.array_copy import copy
numbers = np.arange(1000.0)
found = np.zeros(1000)
copy(numbers, found)
assert (found == numbers).all()
"""


def test_a_run_without_home_and_cache_in_a_plain_locale_succeeds(tmp_path: Path) -> None:
    folder = tmp_path / "two words ünd ärger"
    folder.mkdir()
    (folder / "größe.toml").write_text(SMALL.replace("[grid]", 'title = "Größe"\n[grid]', 1), encoding="utf-8")
    plain = {name: value for name, value in os.environ.items() if name not in PLAIN}
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", NO_HOME, "run", "größe.toml", "--output", "größe"],
        cwd=folder,
        env={**plain, "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0", "MPLCONFIGDIR": str(tmp_path)},
        capture_output=True,
        umask=0o077,
        check=False,
    )
    told = run.stderr.decode(errors="replace")
    assert run.returncode == 0, told
    assert "Traceback" not in told
    assert "kernels cannot be kept, so later runs compile them anew" in told
    (snapshot, *_) = (folder / "größe" / "snapshots").iterdir()
    read_snapshot(snapshot)
    assert snapshot.stat().st_mode & 0o077 == 0


def test_a_run_with_closed_streams_succeeds(tmp_path: Path) -> None:
    (tmp_path / "case.toml").write_text(SMALL)
    command = f'exec "{sys.executable}" -c "{HEATSIM}" run case.toml <&- >&- 2>&-'
    assert subprocess.run(["sh", "-c", command], cwd=tmp_path, check=False).returncode == 0
    assert "finished" in (tmp_path / "outputs" / "case" / "run.json").read_text()
    command = command.replace("case.toml", "none.toml")
    assert subprocess.run(["sh", "-c", command], cwd=tmp_path, check=False).returncode == 2


def test_two_processes_may_fill_a_cache_at_once(tmp_path: Path) -> None:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    both = [subprocess.Popen([sys.executable, "-c", COPY], env=environment) for _ in range(2)]
    assert [process.wait() for process in both] == [0, 0]
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.nbc")}
    assert kept
    assert subprocess.run([sys.executable, "-c", COPY], env=environment, check=False).returncode == 0
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.nb*")} == kept  # the third compiled nothing


def test_a_cache_that_cannot_be_written_is_told_once(tmp_path: Path) -> None:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "none" / "such")}
    (tmp_path / "none").touch()  # no folder can be made in a file
    run = subprocess.run([sys.executable, "-c", COPY], env=environment, check=False, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert run.stderr.count("kernels cannot be kept") == 1
