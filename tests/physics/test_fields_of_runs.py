"""The derived fields that snapshots hold: fluxes as the solver moves them, and what has been so far."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from build_up_cases import box, grid, layers, material, run, scenario
from helpers.in_turn import in_turn
from helpers.scenario_texts import convection, fixed

from heatsim.errors import ScenarioError
from heatsim.output.recorders.derived_fields import derived_fields
from heatsim.scenario import find_warnings, loads
from heatsim.simulation.run import run_scenario as run_into_a_folder
from heatsim.solve.state import State
from heatsim.store.snapshots import read_snapshot

Q = 100.0 / (0.04 / 2.0 + 0.01 + 0.02 / 0.5 + 1 / 20.0)  # W/m2 through the wall below


def fields_of(state: State) -> dict[str, np.ndarray]:
    return {name: field.values for name, field in derived_fields(state).items()}


def wall(**last: Any) -> str:
    """Steady in x: fixed, two materials and a contact between them, then whatever is last."""
    return scenario(
        grid(layers((0.04, 5), (0.02, 2), (0.02, 2)), (0.2, 2), (0.3, 3)),
        {"brick": material((2.0, 5.0, 7.0)), "wood": material(0.5)},
        contacts=[{"between": ["brick", "wood"], "resistance": 0.01}],
        output={"fields": ["heat_flux", "gradient"]},
        **last,
    )


@pytest.mark.parametrize("last", ["convection", "ambient"])
def test_the_flux_through_a_composite_wall_is_one_and_its_gradient_that_of_each_material(last: str) -> None:
    brick, wood = {"material": "brick"}, box("wood", [0.04, -9, -9], [9, 9, 9])
    if last == "convection":  # right behind the wood, which is 20 mm more of it: conductance 1/0.04 in series
        more = {"boundary": {"x_min": fixed(100.0), "x_max": convection(100.0, 0.0)}, "regions": [brick, wood]}
    else:
        air = box("air", [0.06, -9, -9], [9, 9, 9])
        ambients = {"air": {"temperature": 0.0, "coefficient": 20.0}}
        more = {"boundary": {"x_min": fixed(100.0)}, "regions": [brick, wood, air], "ambients": ambients}
    solid = 9 if last == "convection" else 7
    found = fields_of(run(wall(**more)))
    assert set(found) == {f"{name}_{axis}" for name in ("heat_flux", "gradient") for axis in "xyz"}
    assert found["heat_flux_x"].shape == (3, 2, 9)
    np.testing.assert_allclose(found["heat_flux_x"][..., :solid], Q)
    np.testing.assert_allclose(found["gradient_x"][..., :5], -Q / 2.0)
    np.testing.assert_allclose(found["gradient_x"][..., 5:solid], -Q / 0.5)
    assert not found["heat_flux_x"][..., solid:].any()  # not solved
    for name in ("heat_flux_y", "gradient_z"):
        np.testing.assert_allclose(found[name], 0.0, atol=1e-6)


def ring(end: float, rest: str, **more: Any) -> dict[str, np.ndarray]:
    """The fields of four cells of 10 mm, the last beside the first; up to `end` they are brick and release 2 W."""
    period = {"x_min": {"kind": "periodic"}, "x_max": {"kind": "periodic"}}
    text = scenario(
        grid((0.04, 4), (0.01, 1), (0.01, 1)),
        {"brick": material(10.0), "wood": material(10.0)},
        regions=[{"material": "brick"}, box(rest, [end, -9, -9], [9, 9, 9])],
        boundary=period | more.pop("boundary", {}),
        sources=[{"power": 2.0, "region": {"where": f"x < {end}"}}],
        output={"fields": ["heat_flux", "gradient"]},
        **more,
    )
    return fields_of(run(text))


def test_an_ambient_across_a_periodic_face_takes_its_part_of_the_flux() -> None:
    """Three cells release 2 W, of which each side of the fourth, air, takes 1 W through 1 cm2."""
    air = {"temperature": 0.0, "coefficient": 50.0}
    found = ring(0.03, "air", ambients={"air": air})
    expected = 1e4 * np.array([-2 / 3, 0.0, 2 / 3, 0.0])
    np.testing.assert_allclose(found["heat_flux_x"][0, 0], expected, rtol=1e-8, atol=1e-4)
    np.testing.assert_allclose(found["gradient_x"][0, 0], -expected / 10.0, rtol=1e-8, atol=1e-5)


def test_a_contact_across_a_periodic_face_is_that_inside_the_box() -> None:
    """The ring is its own mirror image. Per cell of brick 1 W = 0.2 W/K T_brick + A q, A q = 0.2 W/K T_wood, and
    T_brick - T_wood = q (0.01 + 2 * 0.0005) m2 K/W, with A = 1 cm2."""
    contact = {"between": ["brick", "wood"], "resistance": 0.01}
    found = ring(0.02, "wood", contacts=[contact], boundary={"z_min": fixed(0.0)})
    q = 1.0 / (0.2 * 0.011 + 2e-4)
    np.testing.assert_allclose(found["heat_flux_x"][0, 0], 0.5 * q * np.array([-1, 1, 1, -1]), rtol=1e-8)


def test_where_conductivity_follows_temperature_the_flux_is_that_of_the_ledger() -> None:
    follows = {**material(1.0), "conductivity": "1 + 0.01*T"}
    state = run(
        scenario(
            grid((0.1, 40), (1.0, 1), (1.0, 1)),
            {"follows": follows},
            output={"fields": ["heat_flux"]},
            boundary={"x_min": fixed(100.0), "x_max": {"kind": "radiation", "emissivity": 0.9, "ambient": 0.0}},
        )
    )
    flux = fields_of(state)["heat_flux_x"]
    assert state.energy.faces["x_min"] > 100.0
    np.testing.assert_allclose(flux, state.energy.faces["x_min"], rtol=1e-4)


UP_AND_DOWN = "10 if t < 1 else -20"  # K/s, from 20 degC on: 30 degC after 1 s, 10 degC after 2 s


@in_turn(("integrator", "near"), [("euler", 1e-9), ("implicit", 0.6), ("rkl2", 0.6)])
def test_a_run_keeps_peaks_times_above_and_cooling_rates(tmp_path: Path, integrator: str, near: float) -> None:
    """near: K; the step that ends where the source jumps sees some of the jump, unless it is explicit."""
    text = scenario(
        grid((1.0, 3), (1.0, 2), (1.0, 2)),
        {"unit": material(1e-6, 1.0)},
        integrator,
        end=2.0,
        time={"end": 2.0, "integrator": integrator, "step": 0.05},
        sources=[{"power_density": UP_AND_DOWN}],
        output={
            "snapshots": {"at": [1.0, 2.0]},
            "fields": ["peak_temperature", "time_above", "cooling_rate"],
            "time_above": 22.0,
            "cooling_through": 25.0,
        },
    )
    folder = run_into_a_folder(loads(text), tmp_path / "run").path
    half, end = (read_snapshot(folder / "snapshots" / f"00000{n}.h5") for n in (0, 1))
    np.testing.assert_allclose(half.fields["time_above"].values, 0.8, atol=1e-9)
    np.testing.assert_allclose(end.fields["time_above"].values, 0.8 + 0.4, atol=0.1 * near)
    np.testing.assert_allclose(end.fields["peak_temperature"].values, 30.0, atol=near)
    assert np.isnan(half.fields["cooling_rate"].values).all()
    np.testing.assert_allclose(end.fields["cooling_rate"].values, 20.0, rtol=1e-9)
    units = {name: field.unit for name, field in end.fields.items()}
    assert units == {"peak_temperature": "degC", "time_above": "s", "cooling_rate": "K s-1"}
    with h5py.File(folder / "run.vtkhdf") as series:
        assert series["peak_temperature"].shape == (2, 2, 2, 3)
        assert "time_above" in series["VTKHDF/CellData"]


def test_what_melts_and_freezes_again_tells_how_much_and_how_fast(tmp_path: Path) -> None:
    melting = {**material(1e-6, 1.0), "latent": {"heat": 4.0, "solidus": 24.0, "liquidus": 26.0}}
    text = scenario(
        grid((1.0, 3), (1.0, 2), (1.0, 2)),
        {"melting": melting},
        "euler",
        time={"end": 2.0, "integrator": "euler", "step": 0.05},
        sources=[{"power_density": UP_AND_DOWN}],
        output={
            "snapshots": {"at": [0.7, 1.0, 2.0]},
            "fields": ["melted_fraction", "peak_temperature", "cooling_rate"],
        },
    )
    folder = run_into_a_folder(loads(text), tmp_path / "run").path
    melted = [read_snapshot(folder / "snapshots" / f"00000{n}.h5").fields for n in range(3)]
    fractions = [fields["melted_fraction"].values for fields in melted]
    np.testing.assert_allclose(fractions[0], 0.5, atol=1e-6)  # 4 K to the solidus, then 3 of the 6 J/kg between the two
    assert (fractions[1] == 1.0).all()
    assert not fractions[2].any()
    np.testing.assert_allclose(melted[2]["peak_temperature"].values, 26.0, atol=1e-6)
    rate = melted[2]["cooling_rate"].values  # from within the mush, where it is 20/3 K/s, to the solid, where it is 20
    assert ((rate >= 20 / 3 - 1e-6) & (rate <= 20)).all()


@in_turn(("through", "warned"), [(None, True), (25, True), (26, True), (23.9, False), (30, False)])
def test_cooling_rates_where_a_material_freezes_are_warned_of(through: float | None, warned: bool) -> None:
    melting = {**material(1e-6, 1.0), "latent": {"heat": 4.0, "solidus": 24.0, "liquidus": 26.0}}
    output = {"fields": ["cooling_rate"], **({} if through is None else {"cooling_through": through})}
    told = find_warnings(
        loads(scenario(grid((1.0, 3), (1.0, 2), (1.0, 2)), {"melting": melting}, "euler", output=output))
    )
    assert ["below the solidus" in (flaw.hint or "") for flaw in told] == [True] * warned


def test_fields_of_the_past_are_refused_where_there_is_none() -> None:
    text = wall(boundary={"x_min": fixed(100.0)}).replace('"gradient"', '"peak_temperature"')
    with pytest.raises(ScenarioError, match=r'output.fields.1: expected fields of a moment with integrator "steady"'):
        loads(text)


@pytest.mark.parametrize(
    "wanted", [{"fields": ["time_above"], "time_above": 25.0}, {"fields": ["cooling_rate"], "cooling_through": 25.0}]
)
def test_a_threshold_at_the_reference_temperature_is_one(wanted: dict[str, Any], tmp_path: Path) -> None:
    """The middle of all inputs, from which temperatures are counted: an offset of 0."""
    text = scenario(
        grid((1.0, 4), (1.0, 1), (1.0, 1)), {"brick": material(1.0)}, "euler", initial={"temperature": 25.0},
        output={"snapshots": {"count": 1}, **wanted},
    )  # fmt: skip
    done = run_into_a_folder(loads(text), tmp_path / "run")
    assert wanted["fields"][0] in read_snapshot(next(done.path.glob("snapshots/*.h5"))).fields
