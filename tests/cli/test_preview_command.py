"""`heatsim preview`, and `validate --preview`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from helpers.commands import BLOCK, Invoke
from helpers.in_turn import in_turn

from heatsim.output.pictures.outside_view import _widened_layers
from heatsim.output.pictures.preview import _heated_cells, _kept_cells, _section, _unplaced_sources
from heatsim.output.pictures.sections import thin_layers
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


def test_sources_by_material_or_formula_and_thin_layers_are_drawn() -> None:
    """A foil of 10 um in a block of 20 mm that a source names by its material; a spot by a formula; a perfusion."""
    stack = (
        BLOCK.partition("[grid]")[0]
        + """
grid.x = { layers = [{ thickness = 0.02, cells = 20 }] }
grid.y = { layers = [{ thickness = 0.02, cells = 4 }] }
grid.z.layers = [{ thickness = 0.01, cells = 400 }, { thickness = 1e-5, cells = 1 }, { thickness = 0.01, cells = 4 }]
time.end = 4.0
materials.copper = { conductivity = 400.0, density = 8960.0, heat_capacity = 385.0 }
materials.foil = { conductivity = 400.0, density = 8960.0, heat_capacity = 385.0 }
regions = [{ material = "copper" }, { material = "foil", where = "abs(z - 0.010005) < 4e-6" }]
initial.temperature = 300.0
"""
    )
    found = {}
    for name, source in {
        "material": '{ material = "foil", power = 1.0 }',
        "formula": '{ power_density = "exp(-((x - 0.0145)**2 + (z - 0.0125)**2 + (t - 2)**2)/1e-6)" }',
        "perfusion": '{ material = "copper", perfusion = { coefficient = 1.0, temperature = 300.0 } }',
        "uniform": "{ power_density = 1.0 }",
    }.items():
        problem = build_problem(loads(f"{stack}sources = [{source}]"))
        ids = problem.material_ids()
        assert ids is not None
        found[name] = np.argwhere(_heated_cells(problem, ids)), _unplaced_sources(problem, ids)
        if name == "material":
            section = _section(problem, ids, _heated_cells(problem, ids), "y")
            (layer,) = thin_layers(section.ids, section.places, (2.6, 2.6))
            assert (layer.material, layer.ends.tolist()) == (
                1,
                [[0.0, pytest.approx(0.010005)], [0.02, layer.ends[1, 1]]],
            )
            faces = np.array([0.0, 0.02, 0.02001]), np.array([0.0, 0.02])  # at the end of the box, under its line
            (upper,) = thin_layers(np.array([[0], [1]]), faces, (2.6, 2.6))
            assert upper.ends[:, 1] == pytest.approx(0.02001 - 0.02001 * 3.0 / 72.0 / 2.6)
            assert 1 in ids[np.ix_(*(_kept_cells(ids, axis, 40) for axis in range(3)))]  # of those drawn from outside
            widened, changed = _widened_layers(ids, 0, problem.grid.faces("z") / 0.02)
            assert (changed, widened[401] - widened[400]) == (True, pytest.approx(0.012))
            assert widened[-1] == pytest.approx(problem.grid.faces("z")[-1] / 0.02)
    assert (set(found["material"][0][:, 0]), len(found["material"][0])) == ({400}, 80)
    cells, _ = found["formula"]
    assert set(cells[:, 2]) <= {13, 14, 15}
    assert set(cells[:, 0]) == {401, 402}
    assert [(len(cells), words) for cells, words in (found["perfusion"], found["uniform"])] == [
        (0, ["perfusion: copper"]),
        (0, ["power density: everywhere"]),
    ]


@in_turn(
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
