"""docs/reference/python.md lists every public name with its signature, and its example runs."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest
from helpers.in_turn import in_turn

import heatsim

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "python.md").read_text(encoding="utf-8")


def test_every_public_name_is_listed_and_no_other() -> None:
    assert set(re.findall(r"`heatsim\.(\w+)", PAGE)) == set(heatsim.__all__)
    for name in heatsim.__all__:
        assert getattr(heatsim, name) is not None


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
