"""`heatsim preview`, and `validate --preview`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from helpers.commands import BLOCK, Invoke

from heatsim.pictures.preview import _section
from heatsim.problem import build_problem
from heatsim.scenario import loads

Write = Callable[..., Path]


def test_a_preview_is_drawn_without_a_run(invoke: Invoke, write: Write, tmp_path: Path) -> None:
    write(BLOCK)
    assert invoke("preview", "case.toml", "--output", "block.svg").exit_code == 0
    text = (tmp_path / "block.svg").read_text()
    words = (
        "A test block",
        "12 x 8 x 6 cells",
        "copper",
        "steel",
        "source",
        "face: convection",
        "face: fixed",
        "middle",
    )
    for word in words:
        assert word in text, word
    assert not (tmp_path / "outputs").exists()


def test_validate_draws_on_request(invoke: Invoke, write: Write, tmp_path: Path) -> None:
    write(BLOCK)
    done = invoke("validate", "case.toml", "--preview")
    assert (done.exit_code, done.stdout.splitlines()[1:]) == (0, ["case_preview.png"])
    assert (tmp_path / "case_preview.png").read_bytes().startswith(b"\x89PNG")


def test_a_section_knows_faces_patches_sources_probes_and_slices() -> None:
    patch = '{ where = "x > 0.03", kind = "fixed", temperature = 300.0 }'
    text = BLOCK.replace("ambient = 290.0 }", f"ambient = 290.0, patches = [{patch}] }}")
    problem = build_problem(loads(text))
    ids = problem.material_ids()
    assert ids is not None
    heated = np.zeros(problem.grid.shape, bool)
    heated[3, 4, 5] = True
    section = _section(problem, ids, heated, "y")
    assert section.heated.sum() == 1
    top = [(edge.kind, edge.ends[:, 0].tolist()) for edge in section.edges if (edge.ends[:, 1] == 0.03).all()]
    assert top == [("convection", [0.0, pytest.approx(0.03)]), ("fixed", [pytest.approx(0.03), pytest.approx(0.06)])]
    assert {edge.kind for edge in section.edges} == {"insulated", "fixed", "convection"}
    assert [(probe.name, probe.inside) for probe in section.probes] == [("middle", True), ("corner", False)]
    assert [line.tolist() for line in section.slices] == [[[0.0, 0.016], [0.06, 0.016]]]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["absent.toml"], 2, "absent.toml"),
        (["case.toml", "--output", "a.bmp"], 2, ".png, .svg or .pdf"),
        (["case.toml", "--output", "nowhere/a.png"], 1, "nowhere/a.png"),
    ],
)
def test_bad_input_is_one_message(invoke: Invoke, write: Write, arguments: list[str], code: int, said: str) -> None:
    write(BLOCK)
    done = invoke("preview", *arguments)
    assert (done.exit_code, done.stdout) == (code, "")
    assert said in done.stderr
