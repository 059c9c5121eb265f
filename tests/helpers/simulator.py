"""Scripts that need the CUDA simulator run in a process of their own; what they saved comes back."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]


needs_numba_cuda = pytest.mark.skipif(find_spec("numba_cuda") is None, reason="numba-cuda is not installed")


def marks_of(group: str) -> list[pytest.MarkDecorator]:
    """The marks of a module whose tests share one simulation, which one process does for all of them."""
    return [needs_numba_cuda, pytest.mark.xdist_group(group)]


def fixture_of(script: str | None) -> Callable[..., dict[str, np.ndarray]]:
    """The fixture `simulated` of a module: what the script saves."""

    @pytest.fixture(scope="module", name="simulated")
    def simulated_results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, np.ndarray]:
        return results(script, tmp_path_factory.mktemp("simulator"))

    return simulated_results


def run_script(script: Path | str, *arguments: object, path: Sequence[Path] = ()) -> subprocess.CompletedProcess[str]:
    """Run a script on the simulator; path: where it finds modules beside its own folder and those of this tree."""
    places = os.pathsep.join(map(str, (*path, ROOT, ROOT / "kernels", ROOT / "tests", Path(script).parent)))
    silent = "ignore::RuntimeWarning"  # NumPy tells of unsigned sums that wrap, as they are meant to
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1", "PYTHONPATH": places, "PYTHONWARNINGS": silent}
    command = [sys.executable, "-m", "helpers.simulated", str(script), *map(str, arguments)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=3600, check=False)


def results(script: str | None, folder: Path, *more: Path) -> dict[str, np.ndarray]:
    """The arrays that a script saves in the .npz file which is its argument. `folder`: for this file; `more`: where the
    script finds further modules."""
    assert script is not None
    target = folder / "results.npz"
    done = run_script(script, target, path=more)
    assert done.returncode == 0, done.stderr
    with np.load(target) as file:
        return dict(file)
