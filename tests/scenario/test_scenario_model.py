from __future__ import annotations

from math import pi
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from heatsim.errors import ScenarioError
from heatsim.scenario import Expression, load, loads
from heatsim.scenario.regions import ArrayFile, Cylinder


def test_what_is_left_out_has_its_default(minimal: str) -> None:
    scenario = loads(minimal)
    assert (scenario.temperature_unit, scenario.title) == ("K", "")
    assert scenario.grid.origin == (0.0, 0.0, 0.0)
    assert (scenario.time.step, scenario.time.integrator) == ("auto", "auto")
    compute = scenario.compute
    assert (compute.device, compute.precision, compute.kernel) == ("auto", "float32", "auto")
    assert {scenario.boundary.face(f"{axis}_{end}").kind for axis in "xyz" for end in ("min", "max")} == {"insulated"}
    assert scenario.output.snapshots.times(10.0) == tuple(float(i) for i in range(11))
    assert (scenario.output.energy, scenario.output.slices, scenario.output.probes) == (None, (), ())


def test_an_output_that_names_other_things_still_takes_ten_snapshots(minimal: str) -> None:
    assert len(loads(minimal + "[output]\nenergy = { every = 1 }").output.snapshots.times(10.0)) == 11


def test_numbers_are_floats_and_texts_are_expressions(minimal: str) -> None:
    text = minimal + "[boundary]\nx_min = { kind = 'convection', coefficient = 5, ambient = '300 + t' }\n"
    face = loads(text).boundary.face("x_min")
    assert face.kind == "convection"
    assert isinstance(face.coefficient, float)
    assert isinstance(face.ambient, Expression)
    assert face.ambient(t=2.0) == 302.0


def test_the_default_face_holds_where_no_other_is_named(minimal: str) -> None:
    text = minimal + "[boundary]\ndefault = { kind = 'fixed', temperature = 3 }\ny_max = { kind = 'insulated' }\n"
    boundary = loads(text).boundary
    assert boundary.face("x_min").kind == "fixed"
    assert boundary.face("y_max").kind == "insulated"


def test_a_periodic_default_is_taken_where_it_makes_pairs(minimal: str) -> None:
    text = minimal + "[boundary]\ndefault = { kind = 'periodic' }\n"
    walls = "z_min = { kind = 'insulated' }\nz_max = { kind = 'flux', flux = 1 }\n"
    assert loads(text + walls).boundary.face("x_min").kind == "periodic"


def test_file_names_are_relative_to_the_scenario(tmp_path: Path, minimal: str) -> None:
    path = tmp_path / "foam.toml"
    given = "file = 'foam.npy', dataset = 'ids', map = { 0 = 'copper', -2 = 'copper' }"
    labels = f"[[regions]]\nlabels = {{ {given} }}\n"
    path.write_text(minimal.replace("293.15", "{ file = '../start.h5' }") + labels)
    with pytest.raises(ScenarioError, match="within the folder of the scenario"):
        load(path)
    scenario = load(path, trust=True)
    assert (scenario.path, scenario.directory) == (path, tmp_path)
    assert scenario.regions[1].labels is not None
    assert scenario.regions[1].labels.file == tmp_path / "foam.npy"
    assert scenario.regions[1].labels.map == {0: "copper", -2: "copper"}
    assert scenario.initial.temperature == ArrayFile(file=tmp_path / "../start.h5")
    elsewhere = loads(scenario.to_toml(), Path("/elsewhere/scenario.toml"))
    assert elsewhere == scenario


@pytest.mark.parametrize("around", ["", "y = { layers = [{ thickness = 6.283185307179586, cells = 1 }] }\n"])
def test_around_the_axis_is_one_cell_whether_layers_say_so_or_not(minimal: str, around: str) -> None:
    axes = (
        "x = { layers = [{ thickness = 0.01, cells = 2 }, { thickness = 0.02, cells = 3 }] }\nz = { edges = [0, 1, 3] }"
    )
    lines = minimal.replace("cells = [8, 8, 8]\nsize = [0.1, 0.1, 0.1]", f"coordinates = 'cylindrical'\n{around}{axes}")
    grid = loads(lines).grid
    assert grid.cells == (5, 1, 2)
    assert grid.size == pytest.approx((0.03, 2 * pi, 3.0))
    assert grid.unequal == ("x", "z")


def test_a_scenario_is_frozen(minimal: str) -> None:
    with pytest.raises(ValidationError):
        loads(minimal).time.end = 3.0  # type: ignore[misc]


def test_a_later_room_can_point_at_a_line_of_the_file(minimal: str) -> None:
    text = minimal + "[[regions]]\nmaterial = 'copper'\nwhere = 'x > 5'\n"
    scenario = loads(text, "plate.toml", ["time.end=3"])
    told = scenario.issue_at(("regions", 1, "where"), "holds no cell", "cells are 0.0125 m wide")
    assert str(told) == "plate.toml:16:1: regions.1.where: holds no cell (cells are 0.0125 m wide)"
    assert str(scenario.issue_at(("grid", "origin"), "no")) == "plate.toml:1:2: grid.origin: no"
    assert str(scenario.issue_at(("output",), "no")) == "plate.toml:1:1: output: no"
    assert str(scenario.issue_at(("time", "end"), "no")) == "--set time.end: no"


def test_a_cylinder_is_bounded_tightly_in_any_direction() -> None:
    upright = Cylinder(start=(0, 0, 0), end=(0, 0, 2), radius=0.5)
    assert upright.bounds() == ((-0.5, -0.5, 0.0), (0.5, 0.5, 2.0))
    oblique = Cylinder(start=(0, 0, 0), end=(3, 0, 4), radius=1)
    assert oblique.bounds()[0] == pytest.approx((-0.8, -1.0, -0.6))
    assert oblique.bounds()[1] == pytest.approx((3.8, 1.0, 4.6))


def test_places_on_the_upper_faces_are_inside_in_spite_of_rounding(minimal: str) -> None:
    text = minimal.replace("size = [0.1, 0.1, 0.1]", "size = [0.1, 0.1, 0.1]\norigin = [0.2, 0.7, 0.1]")
    probe = "[[output.probes]]\nname = 'corner'\nat = [0.3, 0.8, 0.2]\nevery = 1\n"
    assert loads(text + probe).output.probes[0].at == (0.3, 0.8, 0.2)


positive = st.floats(1e-6, 1e6)
names = st.from_regex(r"\A[a-zA-Z_][a-z0-9 +.-]{0,8}[a-z]\Z")
materials = st.fixed_dictionaries(
    {
        "conductivity": positive | st.lists(positive, min_size=3, max_size=3),
        "density": positive,
        "heat_capacity": positive,
    }
)
kelvin = st.floats(0, 5000) | st.sampled_from(["300 + 5*sin(x)*y", "293.15 if z < 0.01 else 0"])
schedules = st.one_of(
    st.fixed_dictionaries({"every": st.floats(0.01, 10)}),
    st.fixed_dictionaries({"count": st.integers(1, 1000)}),
    st.fixed_dictionaries({"at": st.lists(st.floats(0, 10), min_size=1, max_size=4)}),
)
watts = st.floats(-1e6, 1e6)
faces = st.one_of(
    st.just({"kind": "insulated"}),
    st.fixed_dictionaries({"kind": st.just("fixed"), "temperature": kelvin}),
    st.fixed_dictionaries({"kind": st.just("flux"), "flux": watts}),
    st.fixed_dictionaries({"kind": st.just("convection"), "coefficient": positive, "ambient": kelvin}),
)
shapes = st.one_of(
    st.just({"box": {"lower": [0, 0.01, 0], "upper": [0.02, 0.02, 0.05]}}),
    st.builds(lambda r: {"sphere": {"center": [0.05] * 3, "radius": r}}, positive),
    st.just({"where": "x > 0.01 and not y < 0.02"}),
)
optional = {
    "title": st.text(st.characters(exclude_categories=["C", "Z"]), max_size=20),
    "temperature_unit": st.sampled_from(["K", "degC"]),
    "boundary": st.dictionaries(st.sampled_from(["default", "x_min", "y_max", "z_min"]), faces),
    "sources": st.lists(
        st.fixed_dictionaries({"power": positive | st.just("3*t")}, optional={"region": shapes}),
        max_size=2,
    ),
    "output": st.fixed_dictionaries({}, optional={"snapshots": schedules, "energy": schedules}),
    "compute": st.just({"precision": "float64"}),
}


@st.composite
def scenarios(draw: st.DrawFn) -> dict[str, Any]:
    solids = draw(st.dictionaries(names, materials, min_size=1, max_size=3))
    some = st.sampled_from(sorted(solids))
    later = st.builds(lambda name, shape: {"material": name, **shape}, some, shapes)
    return {
        "grid": {"cells": [4, 5, 6], "size": [0.1, 0.1, 0.1]},
        "time": {"end": 10.0},
        "materials": solids,
        "regions": [{"material": draw(some)}, *draw(st.lists(later, max_size=3))],
        "initial": {"temperature": draw(kelvin)},
        **draw(st.fixed_dictionaries({}, optional=optional)),
    }


@settings(max_examples=100)
@given(scenarios())
def test_a_scenario_written_out_loads_again_as_the_same(document: dict[str, Any]) -> None:
    scenario = loads(tomli_w.dumps(document))
    again = loads(scenario.to_toml())
    assert again == scenario
    assert again.to_toml() == scenario.to_toml()
