"""What a checkout, an sdist and a wheel hold: nothing that a run, a test or an editor has left there."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from importlib.util import find_spec
from pathlib import Path, PurePosixPath

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = {"benchmarks", "docs", "heatsim", "kernels", "outputs", "scenarios", "tests"}
PAGES = {"CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md", "LICENSE", "Makefile", "README.md", "pyproject.toml"}
OF_A_CHECKOUT = {".ci", ".gitignore", ".pre-commit-config.yaml"}
# The kinds of files that are written by hand, or are pictures of the documents. Another one has to be meant.
IN_A_WHEEL = {".css", ".csv", ".html", ".js", ".py", ".toml", ".typed"}
IN_AN_SDIST = IN_A_WHEEL | {".c", ".flp", ".ipynb", ".json", ".md", ".npy", ".png", ".cff"}


def test_the_top_level_of_a_checkout_is_listed_here() -> None:
    done = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip("no checkout of git")
    assert {name.partition("/")[0] for name in done.stdout.splitlines()} == FOLDERS | PAGES | OF_A_CHECKOUT
    kinds = {PurePosixPath(name).suffix for name in done.stdout.splitlines() if name.partition("/")[0] in FOLDERS}
    assert kinds <= IN_AN_SDIST


@pytest.mark.skipif(find_spec("hatchling") is None, reason="hatchling is not installed")
def test_wheel_and_sdist_hold_the_program_and_nothing_else(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    with tarfile.open(next(tmp_path.glob("*.tar.gz"))) as sdist:
        names = [PurePosixPath(*PurePosixPath(name).parts[1:]) for name in sdist.getnames()]
    assert {name.parts[0] for name in names} - {".gitignore"} == FOLDERS | PAGES | {"PKG-INFO"}  # hatchling adds it
    assert {name.suffix for name in names if len(name.parts) > 1} <= IN_AN_SDIST
    with zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as wheel:
        held = [PurePosixPath(name) for name in wheel.namelist()]
    rooms = {path.name for path in (ROOT / "heatsim").iterdir() if path.name != "__pycache__"}
    assert {name.parts[0] for name in held} == {"heatsim", "heatsim_kernels", "heatsim-0.2.0.dist-info"}
    assert {name.parts[1] for name in held if name.parts[0] == "heatsim"} <= rooms | {"scenarios"}
    assert {name.suffix for name in held if "dist-info" not in name.parts[0]} <= IN_A_WHEEL


def test_click_is_taken_as_it_was_before_its_types_were_generic() -> None:
    """`click>=8.1` is promised; `make lowest` runs it."""
    generic = [path for path in (ROOT / "heatsim" / "cli").glob("*.py") if "(click.ParamType[" in path.read_text()]
    assert generic == []
