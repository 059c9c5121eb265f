"""docs/reference/python.md lists every public name with its signature, and its example runs."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from helpers.in_turn import in_turn

import heatsim

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reference" / "python.md").read_text(encoding="utf-8")
USERS_SCRIPT = Path(__file__).with_name("users_script.py")


def test_every_public_name_is_listed_and_no_other() -> None:
    assert set(re.findall(r"`heatsim\.(\w+)", PAGE)) == set(heatsim.__all__)
    for name in heatsim.__all__:
        assert getattr(heatsim, name) is not None


def test_a_users_script_has_every_public_name() -> None:
    names = re.findall(r"heatsim\.(\w+)", USERS_SCRIPT.read_text(encoding="utf-8"))
    assert set(heatsim.__all__) <= set(names)


@pytest.mark.long
@pytest.mark.skipif(find_spec("pyright") is None, reason="pyright is not installed")
def test_pyright_finds_nothing_in_a_users_script() -> None:
    done = subprocess.run([sys.executable, "-m", "pyright"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout.startswith("0 errors"), done.stdout


@in_turn("name", [name for name in heatsim.__all__ if inspect.isfunction(getattr(heatsim, name))])
def test_headings_have_the_signatures_of_the_code(name: str) -> None:
    parameters = inspect.signature(getattr(heatsim, name)).parameters.values()
    bare = inspect.Signature([each.replace(annotation=inspect.Parameter.empty) for each in parameters])
    assert f"## `heatsim.{name}{bare}`".replace("'", '"') in PAGE


def test_the_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("xarray")
    monkeypatch.chdir(tmp_path)
    slab = "grid = { cells = [8, 4, 1], size = [0.02, 0.01, 0.001] }\ntime = { end = 90.0 }\n"
    slab += "regions = [{ material = 'aluminium' }]\ninitial = { temperature = 300.0 }\n"
    Path("plate.toml").write_text(slab)
    for example in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(example, {})
