"""Void, a material of conductivity 0: not solved, and no heat passes it."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from build_up_cases import Table, grid, material, run, scenario
from helpers.in_memory import problem_of
from helpers.in_turn import in_turn
from helpers.scenario_texts import convection, fixed

import heatsim
from heatsim.errors import ScenarioError
from heatsim.scenario import loads
from heatsim.solve.state import State
from heatsim.store.snapshots import unsolved_names

VOID: Table = {"conductivity": 0}
PORES = "sin(25*x)*sin(31*y)*sin(28*z) > 0.25"
OF_TEMPERATURE = material(2.0) | {"conductivity": "2 + 0.02*T", "heat_capacity": "900 + T"}
PERIODIC = {"kind": "periodic"}


def porous(pore: Table, integrator: str, solid: Table | None = None, **sections: Any) -> State:
    """A box of a solid with pores, of which some lie at its faces, heated in many ways."""
    boundary = {
        "x_min": fixed(100.0),
        "x_max": convection(40.0, "10 + 5*t"),
        "z_max": {"kind": "flux", "flux": 300.0},
        "y_min": PERIODIC,
        "y_max": PERIODIC,
    }
    common: Table = {
        "regions": [{"material": "solid"}, {"material": "pore", "where": PORES}],
        "sources": [{"power_density": 2e3, "material": "solid"}],
        "initial": {"temperature": "20 + 100*x*z"},
        "boundary": boundary,
    }
    materials = {"solid": solid or material([2.0, 1.0, 3.0]), "pore": pore}
    return run(scenario(grid((0.5, 12), (0.4, 10), (0.6, 11)), materials, integrator, 2.0, **(common | sections)))


@in_turn(("integrator", "solid"), [("euler", None), ("rkl2", None), ("implicit", None), ("euler", OF_TEMPERATURE)])
def test_void_is_what_conducts_next_to_nothing(integrator: str, solid: Table | None) -> None:
    void, nearly = (porous(pore, integrator, solid) for pore in (VOID, material(1e-11)))
    ids = void.problem.material_ids()
    assert ids is not None
    assert 0.1 < (ids == 1).mean() < 0.5
    (found, expected), initial = (state.temperature() for state in (void, nearly)), void.problem.initial.planes()
    within = 1e-6 if integrator == "rkl2" else 1e-8 if solid is None else 1e-3  # tangents serve other numbers of steps
    np.testing.assert_allclose(found[ids == 0], expected[ids == 0], atol=within)
    np.testing.assert_allclose(found[ids == 1], np.stack(list(initial))[ids == 1], rtol=1e-14)
    assert abs(void.energy.relative_residual) < 1e-13
    assert void.energy.ambients == {}
    fluxes = [state.problem.flux_and_gradient(state.field.host(), 2.0)[0] for state in (void, nearly)]
    for found, expected in zip(*fluxes, strict=True):
        np.testing.assert_allclose(found[ids == 0], expected[ids == 0], atol=1e-3 if solid is None else 1e-2)
        assert not found[ids == 1].any()


def test_a_porous_body_conducts_as_its_image_says(tmp_path: Path) -> None:
    """The same body by a scenario and by `heatsim.effective`; what hangs together with no face is left out."""
    labels = (np.random.default_rng(1).random((9, 12, 14)) < 0.55).astype(np.uint8)
    labels[4, 5:8, 6:9], labels[4, 6, 7] = 0, 1  # an island, but for what else there is
    labels[3, 6, 7] = labels[5, 6, 7] = 0
    np.save(tmp_path / "body.npy", labels)
    text = scenario(
        grid((1.4, 14), (1.2, 12), (0.9, 9)),
        {"solid": material(3.0), "pore": VOID},
        regions=[
            {"material": "solid"},
            {"labels": {"file": "body.npy", "map": {"0": "pore", "1": "solid"}}},
        ],
        boundary={"x_min": fixed(21.0), "x_max": fixed(20.0)},
    )
    file = tmp_path / "body.toml"
    file.write_text(text)
    state = run(heatsim.load(file).to_toml())
    k = heatsim.effective(labels, {0: 0.0, 1: 3.0}, "x", tolerance=1e-9).conductivity[0, 0]
    assert state.energy.faces["x_min"] == pytest.approx(k * 1.2 * 0.9 / 1.4, rel=1e-7)
    reached, before = np.zeros(labels.shape, bool), -1
    reached[:, :, [0, -1]] = True
    while reached.sum() != before:
        before, wide = reached.sum(), np.pad(reached & (labels == 1), 1)
        for axis in range(3):
            reached |= (np.roll(wide, 1, axis) | np.roll(wide, -1, axis))[1:-1, 1:-1, 1:-1]
        reached &= labels == 1
    left_out = (labels == 1) & ~reached
    assert left_out[4, 6, 7]
    assert state.problem.untied == left_out.sum()
    np.testing.assert_allclose(state.temperature()[left_out], 20.0, rtol=1e-14)
    (warning,) = state.problem.warnings()
    assert f"{left_out.sum()} cells that void separates" in str(warning)


def cut_off(**sections: Any) -> str:
    """Two slabs with void between them, of which one is tied to a temperature."""
    regions = [{"material": "solid"}, {"material": "pore", "where": "x > 0.4 and x < 0.6"}]
    materials, boundary = {"solid": material(1.0), "pore": VOID}, {"x_min": fixed(50.0)}
    given: Table = {"materials": materials, "regions": regions, "boundary": boundary} | sections
    return scenario(grid((1.0, 10), (1.0, 2), (1.0, 2)), **given)


def test_what_void_cuts_off_has_no_steady_state_where_it_is_heated() -> None:
    state = run(cut_off())
    np.testing.assert_allclose(state.temperature()[0, 0], [50.0] * 4 + [20.0] * 6)
    perfused = {"coefficient": 10.0, "temperature": 30.0}
    tied = run(
        cut_off(sources=[{"perfusion": perfused, "region": {"box": {"lower": [0.8, 0, 0], "upper": [1, 1, 1]}}}])
    )
    np.testing.assert_allclose(tied.temperature()[0, 0], [50.0] * 4 + [20.0] * 2 + [30.0] * 4)
    for heated in (
        {"sources": [{"power": 1.0}]},
        {"boundary": {"x_min": fixed(50.0), "x_max": {"kind": "flux", "flux": 1.0}}},
    ):
        with pytest.raises(ScenarioError, match="what void separates from all given temperatures is heated"):
            problem_of(cut_off(**heated))
    with pytest.raises(ScenarioError, match="void separates all cells from all given temperatures"):
        problem_of(cut_off(regions=[{"material": "solid"}, {"material": "pore", "where": "x < 0.2"}]))


@in_turn(
    ("sections", "message"),
    [
        ({"sources": [{"power": 1.0, "material": "pore"}]}, "sources.0.material: expected the name of a material"),
        ({"output": {"regions": [{"name": "a", "material": "pore", "count": 1}]}}, "found \"pore\", which is void"),
        ({"contacts": [{"between": ["solid", "pore"], "resistance": 1.0}]}, "found \"pore\", which is void"),
        ({"regions": [{"material": "solid"}, {"material": "pore", "initial": 3.0}]}, "expected no initial"),
        ({"materials": {"solid": material(1.0), "pore": {"conductivity": 0, "colour": 1}}}, "materials.pore.colour"),
        ({"output": {"results": [{"name": "q", "of": "heat('pore')"}]}}, "expected the name of a face of the box"),
        ({"materials": {"pore": VOID}}, "pore.conductivity: expected a number > 0"),
    ],
)  # fmt: skip
def test_what_void_cannot_have_is_refused(sections: Table, message: str) -> None:
    with pytest.raises(ScenarioError, match=message):
        loads(cut_off(**sections))


def test_void_is_told_from_other_materials() -> None:
    given = loads(cut_off(output={"probes": [{"name": "p", "at": [0.5, 0.5, 0.5], "count": 1}]}))
    assert loads(given.to_toml()).to_toml() == given.to_toml()
    assert unsolved_names(tomllib.loads(given.to_toml())) == ["pore"]  # which pictures leave out
    problem = problem_of(given.to_toml())
    assert "lies in 'pore', which is void" in " ".join(map(str, problem.warnings()))


def test_no_amount_passes_a_diffusivity_of_0() -> None:
    state = run(
        scenario(
            grid((1.0, 10), (1.0, 1), (1.0, 1)),
            {"gel": {"diffusivity": 1.0}, "glass": {"diffusivity": "0 m2/s"}},
            "implicit",
            50.0,
            quantity={"name": "solute", "unit": "mol/m3"},
            regions=[{"material": "gel"}, {"material": "glass", "where": "x > 0.5"}],
            initial={"solute": 1.0},
            boundary={"x_min": {"kind": "fixed", "solute": 3.0}},
        ).replace('temperature_unit = "degC"\n', "")
    )
    np.testing.assert_allclose(state.temperature()[0, 0], [3.0] * 5 + [1.0] * 5, rtol=1e-6)
