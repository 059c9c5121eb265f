"""The examples of docs/reference/results.md read what a run leaves behind."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from helpers.commands import Invoke

RESULTS = Path(__file__).parents[2] / "docs" / "reference" / "results.md"


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", RESULTS.read_text(), re.DOTALL)


def test_the_examples_of_the_documentation_read_a_run(
    invoke: Invoke, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    [scenario] = blocks("toml")
    (tmp_path / "plate.toml").write_text(scenario)
    assert invoke("run", "plate.toml", "--quiet").exit_code == 0
    known: dict[str, Any] = {}
    for example in blocks("python"):
        exec(example, known)
        assert capsys.readouterr().out.strip(), example
    once, again = (known["columns"](f"outputs/{name}/probes.csv")["chip [degC]"] for name in ("plate", "rest"))
    assert len(again) == 3
    assert again == pytest.approx(once[2:], abs=1e-3)
    assert once[-1] > once[2] + 1.0
