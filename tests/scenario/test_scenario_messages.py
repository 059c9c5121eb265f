# ruff: noqa: E501 - messages are shown whole, in one line
"""What a user reads when something is wrong: whole messages, without the file name that they begin with."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from heatsim.errors import ScenarioError
from heatsim.scenario import load

Messages = Callable[..., list[str]]

# (replaced in the minimal scenario, by what, the one message)
IN_PLACE = [
    ("cells = [8, 8, 8]", "cells = [8, 8]", "2:1: grid.cells: expected an array of 3 whole numbers from 1 to 68719476736, found an array of 2"),
    ("cells = [8, 8, 8]", "cells = [8, 8.0, 8]", "2:13: grid.cells.1: expected a whole number from 1 to 68719476736, found 8.0"),
    ("cells = [8, 8, 8]", "cells = [8, 0, 8]", "2:13: grid.cells.1: expected a whole number from 1 to 68719476736, found 0"),
    ("cells = [8, 8, 8]", "cells = [100000, 100000, 100000]", "2:1: grid.cells: expected at most 2**36 = 68719476736 cells in all, found 1000000000000000"),
    ("size = [0.1, 0.1, 0.1]", "size = [0.1, -0.1, true]", "3:14: grid.size.1: expected a number > 0 (m), found -0.1\n3:20: grid.size.2: expected a number > 0 (m), found true"),
    ("size = [0.1, 0.1, 0.1]", "size = 0.1", "3:1: grid.size: expected an array of 3 numbers > 0 (m), found 0.1"),
    ("size = [0.1, 0.1, 0.1]", "size = [0.1, 0.1, 1e-40]", "3:19: grid.size.2: expected a number > 0 (m), found 1e-40 (sizes from 1e-30 to 1e+30 can be computed with)"),
    ("size = [0.1, 0.1, 0.1]\n", "", "1:2: grid.size: missing (Size of the box along x, y, z [m]; along phi the whole turn, 6.283185 [rad])"),
    ("end = 10.0", "end = 0", "5:1: time.end: expected a number > 0 (s), found 0"),
    ("end = 10.0", "end = inf", "5:1: time.end: expected a number > 0 (s), found inf (it has to be finite)"),
    ("end = 10.0", "end = nan", "5:1: time.end: expected a number > 0 (s), found nan (it has to be finite)"),
    ("end = 10.0", "end = 1e400", "5:1: time.end: expected a number > 0 (s), found inf (it has to be finite)"),
    ("end = 10.0", "end = true", "5:1: time.end: expected a number > 0 (s), found true"),
    ("end = 10.0", 'end = "10"', '5:1: time.end: expected a number > 0 (s), found "10"'),
    ("end = 10.0", "end = 1979-05-27", "5:1: time.end: expected a number > 0 (s), found 1979-05-27"),
    ("end = 10.0", "end = 10.0\nsteps = 3", '6:1: time.steps: unknown key (did you mean "step"?)'),
    ("end = 10.0", "end = 10.0\nq = 3", "6:1: time.q: unknown key (known here: end, step, integrator, tolerance, method)"),
    ("end = 10.0", 'end = 10.0\nstep = "aut"', '6:1: time.step: expected "auto" or a number > 0 (s), found "aut" (did you mean "auto"?)'),
    ("end = 10.0", 'end = 10.0\nintegrator = "eulr"', '6:1: time.integrator: expected "auto", "euler", "rkl2", "implicit" or "steady", found "eulr" (did you mean "euler"?)'),
    ("conductivity = 398.0", "conductivity = 0", "7:1: materials.copper.conductivity: expected a number > 0 or an expression in T (W/(m K)), found 0"),
    ("conductivity = 398.0", "conductivity = [1, 2, 0]", "7:23: materials.copper.conductivity.2: expected a number > 0 (W/(m K)), found 0"),
    ("density = 8960.0", 'density = "8960"', '8:1: materials.copper.density: expected a number > 0 (kg/m3), found "8960"'),
    ("[materials.copper]", "[materials.'../x']", '6:12: materials."../x": expected a name of 1 to 60 letters, digits, spaces and _ - + . that starts with a letter, digit or _, found "../x" (it names a file or a column)\n11:1: regions.0.material: expected the name of a material, found "copper" (known here: ../x)'),
    ('material = "copper"', 'material = "coper"', '11:1: regions.0.material: expected the name of a material, found "coper" (did you mean "copper"?)'),
    ('material = "copper"', 'material = "wood"', '11:1: regions.0.material: expected the name of a material, found "wood" (known here: copper)'),
    ('material = "copper"', "", "10:3: regions.0: expected a material, found none"),
    ('material = "copper"', 'material = "copper"\nwhere = "x > 0"', "12:1: regions.0.where: expected the first region to cover the grid, found a shape (begin with a region that has a material and no shape)"),
    ("[[regions]]", "[regions]", "10:2: regions: expected an array, found a table"),
    ("temperature = 293.15", "temperature = -1", "13:1: initial.temperature: expected a number >= 0 or an expression in x, y, z (K), found -1"),
    ("temperature = 293.15", 'temperature = "20 + sin(t)"', '13:1: initial.temperature: expected a number >= 0 or an expression in x, y, z (K), found "20 + sin(t)": at character 10: t has no meaning here; the names are x, y, z, pi'),
    ("temperature = 293.15", 'temperature = "20 \u2212 x"', '13:1: initial.temperature: expected a number >= 0 or an expression in x, y, z (K), found "20 \u2212 x": at character 4: the character U+2212 MINUS SIGN is not allowed; write -'),
    ("temperature = 293.15", 'temperature = "1/0"', '13:1: initial.temperature: expected a number >= 0 or an expression in x, y, z (K), found "1/0", which is inf'),
    ("temperature = 293.15", 'temperature = { files = "a.npy" }', '13:17: initial.temperature.files: unknown key (did you mean "file"?)\n13:1: initial.temperature.file: missing (File name, relative to the scenario file (.npy, .npz, .h5, .hdf5, .png))'),
    ("temperature = 293.15", 'temperature = { file = "" }', '13:17: initial.temperature.file: expected the name of a .npy, .npz, .h5 or .png file, found ""'),
]  # fmt: skip

# (appended to the minimal scenario from line 14 on, the one message)
APPENDED = [
    ("[compute]\ndevice = 'gpu'", '15:1: compute.device: expected "auto", "cpu" or "cuda", found "gpu" (did you mean "cpu"?)'),
    ("[compute]\nprecision = 32", '15:1: compute.precision: expected "float32" or "float64", found 32'),
    ("[grids]", '14:2: grids: unknown key (did you mean "grid"?)'),
    ("[boundary]\nx_min = { kind = 'fixd' }", '15:11: boundary.x_min.kind: expected "insulated", "fixed", "flux", "convection", "periodic" or "radiation", found "fixd" (did you mean "fixed"?)'),
    ("[boundary]\nx_min = { temperature = 300 }", '15:1: boundary.x_min.kind: expected "insulated", "fixed", "flux", "convection", "periodic" or "radiation", found none'),
    ("[boundary]\nx_min = 300", '15:1: boundary.x_min: expected a table, found 300 (such as { kind = "insulated" })'),
    ("[boundary]\nx_min = { kind = 'flux', flux = 'x+q', flx = 1 }", "15:26: boundary.x_min.flux: expected a number or an expression in x, y, z, t (W/m2), found \"x+q\": at character 3: unknown name 'q'; the names are t, x, y, z, pi\n15:40: boundary.x_min.flx: unknown key (did you mean \"flux\"?)"),
    ("[boundary]\nx_min = { kind = 'convection', coefficient = -1, ambient = 300 }", "15:32: boundary.x_min.coefficient: expected a number >= 0 or an expression in x, y, z, t, T (W/(m2 K)), found -1"),
    ("[boundary]\nx_min = { kind = 'fixed', temperature = 300, where = 'y > 0' }", "15:46: boundary.x_min.where: where belongs to a patch of a face, not to a face"),
    ("[boundary]\ny_max = { kind = 'periodic' }", "15:1: boundary.y_max: periodic needs both faces of y, but y_min is insulated"),
    ("[boundary]\ndefault = { kind = 'periodic' }\nz_min = { kind = 'flux', flux = 1 }", "15:1: boundary.default: periodic needs both faces of z, but z_min is flux"),
    ("[[regions]]\nmaterial = 'copper'\nbox = { lower = [1, 0, 0], upper = [2, 1, 1] }", "16:1: regions.1.box: lies outside the grid, which is x from 0 to 0.1, y from 0 to 0.1, z from 0 to 0.1 (m)"),
    ("[[regions]]\nmaterial = 'copper'\nbox = { lower = [20, 0, 0], upper = [40, 50, 10] }", "16:1: regions.1.box: lies outside the grid, which is x from 0 to 0.1, y from 0 to 0.1, z from 0 to 0.1 (m) (in mm? lengths are in m)"),
    ("[[output.probes]]\nname = 'a'\nat = [50, 50, 10]\nevery = 1", "16:1: output.probes.0.at: lies outside the grid, which is x from 0 to 0.1, y from 0 to 0.1, z from 0 to 0.1 (m) (in mm? lengths are in m)"),
    ("[[regions]]\nmaterial = 'copper'\nbox = { lower = [-1, 0, 0], upper = [0, 1, 1] }", "16:1: regions.1.box: lies outside the grid, which is x from 0 to 0.1, y from 0 to 0.1, z from 0 to 0.1 (m)"),
    ("[[regions]]\nmaterial = 'copper'\nbox = { lower = [0, 0, 0], upper = [1, 0, 1] }", "16:1: regions.1.box: expected lower < upper along y (m), found 0 and 0"),
    ("[[regions]]\nmaterial = 'copper'\nsphere = { center = [0, 0, 0.2], radius = 0.05 }", "16:1: regions.1.sphere: lies outside the grid, which is x from 0 to 0.1, y from 0 to 0.1, z from 0 to 0.1 (m)"),
    ("[[regions]]\nmaterial = 'copper'\nsphere = { center = [0, 0, 0], radius = 1 }\nwhere = 'x > 0'", "14:3: regions.1: expected one of box, sphere, cylinder, where, labels, stl, found sphere and where"),
    ("[[regions]]\nmaterial = 'copper'\nwhere = true", '16:1: regions.1.where: expected a condition in x, y, z, found true (such as "x > 0.01 and z < 0.002")'),
    ("[[regions]]\nmaterial = 'copper'\nwhere = 'x>q'", "16:1: regions.1.where: expected a condition in x, y, z, found \"x>q\": at character 3: unknown name 'q'; the names are x, y, z, pi"),
    ("[[regions]]\nlabels = { file = 'a.npy', map = { 0 = 'coper', 1.5 = 'copper' } }", "15:36: regions.1.labels.map.0: expected the name of a material, found \"coper\" (did you mean \"copper\"?)\n15:49: regions.1.labels.map.1: expected the name of a material, found a table (known here: copper)"),
    ("[[regions]]\nlabels = { file = 'a.npy', map = { one = 'copper' } }", '15:36: regions.1.labels.map.one: expected a label (whole number), found "one"'),
    ("[[regions]]\nmaterial = 'copper'\nlabels = { file = 'a.npy', map = { 0 = 'copper' } }", "14:3: regions.1: expected labels or a material, found both (labels name their materials in map)"),
    ("[[sources]]\npower = 1\npower_density = 2", "14:3: sources.0: expected one of power (W), power_density (W/m3), trace and beam, found power and power_density"),
    ("[[sources]]\nregion = { where = 'x > 0' }", "14:3: sources.0: expected one of power (W), power_density (W/m3), trace and beam, found none"),
    ("[[sources]]\npower = 1\nregion = {}", "14:3: sources.0: expected box, sphere, cylinder or where in region, found none (leave region out for everywhere)"),
    ("[[sources]]\npower = 1\nregion = { cylinder = { start = [0, 0, 1], end = [0, 0, 2], radius = 1 } }", "16:12: sources.0.region.cylinder: lies outside the grid, which is x from 0 to 0.1, y from 0 to 0.1, z from 0 to 0.1 (m)"),
    ("[output]\nsnapshots = { every = 1, count = 2 }", "15:1: output.snapshots: expected one of every (s), at (s) and count, found every and count"),
    ("[output]\nsnapshots = {}", "15:1: output.snapshots: expected one of every (s), at (s) and count, found none"),
    ("[output]\nsnapshots = { at = [] }", "15:15: output.snapshots.at: expected an array of numbers >= 0 (s), found an array of 0"),
    ("[output]\nsnapshots = { at = [1, 20] }", "15:15: output.snapshots.at: expected times up to time.end = 10 (s), found 20 "
        "(leave out later times, or replace the list: --set 'output.snapshots={count=1}')"),
    ("[output]\nenergy = { every = 1e-9 }", "15:12: output.energy.every: expected at most 1000000 times, found 1e+10 times to time.end = 10 s"),
    ("[output]\nenergy = { count = 0 }", "15:12: output.energy.count: expected a whole number from 1 to 1000000, found 0"),
    ("[[output.slices]]\naxis = 'w'\nat = 0\nevery = 1", '15:1: output.slices.0.axis: expected "x", "y" or "z", found "w"'),
    ("[[output.slices]]\naxis = 'x'\nat = 0.2\nevery = 1", "16:1: output.slices.0.at: lies outside the grid, which is x from 0 to 0.1, y from 0 to 0.1, z from 0 to 0.1 (m)"),
    ("[[output.slices]]\naxis = 'x'\nat = 0.05", "14:10: output.slices.0: expected one of every (s) and count, found none"),
    ("[output]\nslices = [{ axis = 'x', at = 0.05, every = 1 }, { axis = 'x', at = 0.05, count = 1 }]", '15:49: output.slices.1.name: "x_0.05" is the name of output.slices.0 too (give it another name)'),
    ("[[output.probes]]\nname = 'a'\nat = [0, 0, 1]\nevery = 1", "16:1: output.probes.0.at: lies outside the grid, which is x from 0 to 0.1, y from 0 to 0.1, z from 0 to 0.1 (m)"),
    ("[output]\nprobes = [{ name = 'a', at = [0, 0, 0], every = 1 }, { name = 'A', at = [0, 0, 0], every = 1 }]", '15:56: output.probes.1.name: "A" is the name of output.probes.0 too (give it another name)'),
    ("[[output.probes]]\nname = '../../etc'\nat = [0, 0, 0]\nevery = 1", '15:1: output.probes.0.name: expected a name of 1 to 60 letters, digits, spaces and _ - + . that starts with a letter, digit or _, found "../../etc" (it names a file or a column)'),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "message"), IN_PLACE)
def test_a_wrong_value_is_told_with_its_place(
    messages: Messages, minimal: str, old: str, new: str, message: str
) -> None:
    assert sorted(messages(minimal.replace(old, new))) == sorted(message.split("\n"))


@pytest.mark.parametrize(("added", "message"), APPENDED)
def test_a_wrong_table_is_told_with_its_place(messages: Messages, minimal: str, added: str, message: str) -> None:
    assert messages(minimal + added) == message.split("\n")


def test_everything_that_is_wrong_is_told_at_once_in_the_order_of_the_file(messages: Messages, minimal: str) -> None:
    text = minimal.replace("end = 10.0", "end = -1").replace("398.0", "true").replace("0.1]", "0.1, 1]")
    text += "[boundary]\nx_min = { kind = 'periodic' }\n[hotspots]\nscales = [1]\n[bondary]\n"
    assert messages(text) == [
        "3:1: grid.size: expected an array of 3 numbers > 0 (m), found an array of 4",
        "5:1: time.end: expected a number > 0 (s), found -1",
        "7:1: materials.copper.conductivity: expected a number > 0 or an expression in T (W/(m K)), found true",
        "15:1: boundary.x_min: periodic needs both faces of x, but x_max is insulated",
        "16:2: hotspots.threshold: missing (Least rise over the surroundings [K])",
        '18:2: bondary: unknown key (did you mean "boundary"?)',
    ]


def test_temperatures_are_judged_in_the_unit_of_the_file(messages: Messages, minimal: str) -> None:
    text = 'temperature_unit = "degC"\n' + minimal.replace("293.15", "-300")
    expected = "expected a number >= -273.15 or an expression in x, y, z (degC), found -300"
    assert messages(text) == [f"14:1: initial.temperature: {expected}"]


def test_an_empty_list_of_regions_leaves_the_grid_uncovered(messages: Messages, minimal: str) -> None:
    text = "regions = []\n" + minimal.replace('[[regions]]\nmaterial = "copper"\n', "")
    assert messages(text) == ["1:1: regions: expected at least one region, found none"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[grid", "1:6: not TOML: Expected ']' at the end of a table declaration"),
        ("a = 1\nb = = 2\n", "2:5: not TOML: Invalid value"),
        ('a = 1\r\nb = "x', "2:7: not TOML: Unterminated string"),
        ("a = 1\n  a = 2", "2:3: a: given in line 1 already (leave one of them out)"),
        ("[a.b]\nc = 1\n[a]\nd = 1\n[ a ]\nd = 2", "5:3: a: given in line 1 already (leave one of them out)"),
        (
            "[[a]]\nb = { c = 1 }\n[[a]]\nb = 1\nb = { c = 2 }",
            "5:1: a.1.b: given in line 4 already (leave one of them out)",
        ),
        ("a = { b = 1, c = 2, b = 3 }", "1:21: a.b: given in line 1 already (leave one of them out)"),
        ("a = \u22121.0", "1:5: not TOML: found U+2212 MINUS SIGN (write -)"),
        ("a = 1\n b\u00a0= 2", "2:3: not TOML: found U+00A0 NO-BREAK SPACE (write a plain space)"),
        ("a = \u201cb\u201d", "1:5: not TOML: found U+201C LEFT DOUBLE QUOTATION MARK (write a plain quote)"),
        ("gr\u00f6\u00dfe = 1", "1:3: not TOML: found U+00F6 LATIN SMALL LETTER O WITH DIAERESIS"),
        ("a = = 1  # \u22122", "1:5: not TOML: Invalid value"),
        ("a = 1\nb = " + "[" * 5000, "2:37: nested more than 32 deep"),
        ("a = 1\nb = -" + "1" * 5000, "2:5: a number of more than 200 characters"),
        ("a = 0x" + "f" * 5000, "1:5: a number of more than 200 characters"),
        ("", " expected a scenario, found nothing (see heatsim init)"),
        ("# only a comment\n", " expected a scenario, found nothing (see heatsim init)"),
    ],
)
def test_text_that_is_not_toml_is_one_message(messages: Messages, text: str, message: str) -> None:
    assert messages(text) == [message]


def refusal(path: Path) -> str:
    with pytest.raises(ScenarioError) as error:
        load(path)
    assert error.value.exit_code == 2
    return str(error.value)


def test_files_that_cannot_be_read_are_one_message(tmp_path: Path) -> None:
    scenario = tmp_path / "plate.toml"
    scenario.write_bytes(b"title = 'a'\nb = 'caf\xe9'\n")
    assert refusal(tmp_path / "plat.toml") == f"{tmp_path}/plat.toml: no such file (did you mean {scenario}?)"
    assert refusal(tmp_path) == f"{tmp_path}: expected a scenario file, found a directory"
    assert refusal(scenario) == f"{scenario}:2:9: expected UTF-8 text, found byte 0xe9"
    scenario.write_bytes(b"#" * (2**20 + 1))
    assert refusal(scenario) == f"{scenario}: expected at most 1 MiB (arrays belong in files of their own)"
    scenario.write_bytes(b"")
    assert refusal(scenario) == f"{scenario}: expected a scenario, found nothing (see heatsim init)"


def test_a_file_with_windows_line_ends_and_byte_order_mark_loads(tmp_path: Path, minimal: str) -> None:
    scenario = tmp_path / "plate.toml"
    scenario.write_bytes(b"\xef\xbb\xbf" + minimal.replace("\n", "\r\n").encode())
    assert load(scenario).time.end == 10.0


def test_a_flood_of_mistakes_is_cut_off(messages: Messages, minimal: str) -> None:
    flood = "".join(f"k{i} = 1\n" for i in range(5000))
    assert len(messages(flood + minimal)) == 100
