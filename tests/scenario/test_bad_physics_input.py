# ruff: noqa: E501 - messages are shown whole, in one line
"""Bad input of the physics: every family of keys, as if all of it were built."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from heatsim.scenario import loads, unsupported

Messages = Callable[..., list[str]]

# (replaced in the minimal scenario, by what, the messages)
MATERIALS_AND_GRIDS = [
    ("398.0", "{ T = [300, 300], value = [1, 2] }", "7:18: materials.copper.conductivity.T: expected an array of at least 2 increasing numbers >= 0 (K), found a number that does not exceed the one before it"),
    ("398.0", "{ T = [300], value = [1] }", "7:18: materials.copper.conductivity.T: expected an array of at least 2 increasing numbers >= 0 (K), found an array of 1\n7:29: materials.copper.conductivity.value: expected an array of at least 2 numbers > 0 (W/(m K)), found an array of 1"),
    ("398.0", "{ T = [-1, 300], value = [1, 2] }", "7:23: materials.copper.conductivity.T.0: expected a number >= 0 (K), found -1"),
    ("398.0", "{ T = [300, 400], value = [1, 0] }", "7:46: materials.copper.conductivity.value.1: expected a number > 0 (W/(m K)), found 0"),
    ("398.0", "{ T = [300, 400], value = [1, 2, 3] }", "7:1: materials.copper.conductivity: expected as many values as T, found 3 and 2"),
    ("398.0", "{ T = [300, 400] }", "7:1: materials.copper.conductivity.value: missing (Conductivity at the points [W/(m K)])"),
    ("398.0", "'400 - x'", '7:1: materials.copper.conductivity: expected a number > 0 or an expression in T (W/(m K)), found "400 - x": at character 7: x has no meaning here; the names are T, pi'),
    ("398.0", "'-1'", '7:1: materials.copper.conductivity: expected a number > 0 or an expression in T (W/(m K)), found "-1", which is -1'),
    ("385.0", "[1, 2, 3]", "9:1: materials.copper.heat_capacity: expected a number > 0 or an expression in T (J/(kg K)), found an array of 3"),
    ("385.0", "{ T = [300, 400], values = [1, 2] }", '9:1: materials.copper.heat_capacity.value: missing (Specific heat capacity at the points [J/(kg K)])\n9:35: materials.copper.heat_capacity.values: unknown key (did you mean "value"?)'),
    ("385.0", "385.0\nlatent = { heat = 2e5, solidus = 1360, liquidus = 1350 }", "10:1: materials.copper.latent: expected solidus <= liquidus, found 1360 and 1350"),
    ("385.0", "385.0\nlatent = { heat = 0, solidus = 1, liquidus = 2 }", "10:12: materials.copper.latent.heat: expected a number > 0 (J/kg), found 0"),
    ("385.0", "385.0\nlatent = { heat = 2e5, solidus = -3, liquidus = 2 }", "10:24: materials.copper.latent.solidus: expected a number >= 0 (K), found -3"),
    ("385.0", "385.0\nlatent = 2e5", "10:1: materials.copper.latent: expected a table, found 200000.0"),
    ("[grid]", "[grid]\nx = { edges = [0, 0.1] }", "2:7: grid.x.edges: expected 8 cells, as grid.cells has along x, found 1 (cells, size and origin may be left out where all axes have layers or edges)"),
    ("[grid]", "[grid]\nz = { layers = [{ thickness = 0.2, cells = 8 }] }", "2:7: grid.z.layers: expected 0.1 (m) in all, as grid.size has along z, found 0.2 (cells, size and origin may be left out where all axes have layers or edges)"),
    ("[grid]", "[grid]\nx = { edges = [0, 2, 1] }", "2:7: grid.x.edges: expected an array of at least 2 increasing numbers (m), found a number that does not exceed the one before it"),
    ("[grid]", "[grid]\nx = {}", "2:1: grid.x: expected one of layers and edges (m), found none"),
    ("[grid]", "[grid]\nx = { edges = [0, 0.1], layers = [] }", "2:1: grid.x: expected one of layers and edges (m), found both"),
    ("[grid]", "[grid]\nx = { layers = [] }", "2:1: grid.x: expected at least one layer, found none"),
    ("[grid]", "[grid]\nx = { layers = [{ thickness = 0, cells = 8 }] }", "2:19: grid.x.layers.0.thickness: expected a number > 0 (m), found 0"),
    ("[grid]\ncells = [8, 8, 8]\nsize = [0.1, 0.1, 0.1]", "[grid]\norigin = [1, 0, 0]\nx = { edges = [0, 0.1] }\ny = { edges = [0, 0.1] }\nz = { edges = [0, 0.1] }", "3:7: grid.x.edges: expected 1 (m) first, as grid.origin has along x, found 0 (cells, size and origin may be left out where all axes have layers or edges)"),
    ("[grid]\ncells = [8, 8, 8]\nsize = [0.1, 0.1, 0.1]", "[grid]\nx = { edges = [0, 0.1] }\ny = { edges = [0, -0.1] }\nz = { edges = [0, 0.1] }", "3:7: grid.y.edges: expected an array of at least 2 increasing numbers (m), found a number that does not exceed the one before it"),
    ("[grid]\ncells = [8, 8, 8]\nsize = [0.1, 0.1, 0.1]", "[grid]\nx = { edges = [0, 0.1] }\nz = { edges = [0, 0.1] }", "1:2: grid.cells: missing (Number of cells along x, y and z [1]; 1 = that axis is not resolved)\n1:2: grid.size: missing (Size of the box along x, y, z [m]; along phi the whole turn, 6.283185 [rad])"),
    ("[grid]", "[grid]\ncoordinates = 'cylindrical'", "3:13: grid.cells.1: expected one cell around the axis, found 8 along y (y is the angle phi)"),
    ("cells = [8, 8, 8]\nsize = [0.1, 0.1, 0.1]", "coordinates = 'cylindrical'\nx = { edges = [0, 0.1] }\ny = { layers = [{ thickness = 6.283185307, cells = 2 }] }\nz = { edges = [0, 0.1] }", "4:7: grid.y.layers: expected one cell around the axis, found 2 along y (y is the angle phi)"),
    ("cells = [8, 8, 8]", "coordinates = 'cylindrical'\ncells = [8, 1, 8]", "4:14: grid.size.1: expected 6.283185 (rad) along y, the whole turn, found 0.1 (y is the angle phi)"),
    ("cells = [8, 8, 8]\nsize = [0.1, 0.1, 0.1]", "coordinates = 'cylindrical'\ncells = [8, 1, 8]\nsize = [0.1, 6.283185307, 0.1]\norigin = [-0.05, 0, 0]", "5:11: grid.origin.0: expected a radius >= 0 (m), found -0.05 (x is the radius)"),
]  # fmt: skip

# (appended to the minimal scenario from line 14 on, the messages): ambients, contacts, faces, beams, output
TABLES = [
    ("[ambients.room]\ntemperature = 300", "14:11: ambients.room: expected one of coefficient (W/(m2 K)) and resistance (m2 K/W), found none"),
    ("[ambients.room]\ntemperature = 300\ncoefficient = 1\nresistance = 1", "14:11: ambients.room: expected one of coefficient (W/(m2 K)) and resistance (m2 K/W), found both"),
    ("[ambients.room]\ntemperature = -300\ncoefficient = 1", "15:1: ambients.room.temperature: expected a number >= 0 (K), found -300"),
    ("[ambients.room]\ntemperature = 300\ncoefficient = 0", "16:1: ambients.room.coefficient: expected a number > 0 (W/(m2 K)), found 0"),
    ("[ambients.copper]\ntemperature = 300\ncoefficient = 1", '14:11: ambients.copper: "copper" is the name of a material too (give it another name)'),
    ("[[contacts]]\nbetween = ['copper', 'copper']\nresistance = 1e-5", '14:3: contacts.0: expected two different materials, found "copper" twice'),
    ("[[contacts]]\nbetween = ['copper', 'tim']\nresistance = 1e-5", '15:22: contacts.0.between.1: expected the name of a material, found "tim" (known here: copper)'),
    ("[[contacts]]\nbetween = ['copper']\nresistance = 1e-5", "15:1: contacts.0.between.1: missing"),
    ("[materials.tin]\nconductivity = 67.0\ndensity = 7300.0\nheat_capacity = 228.0\n[[contacts]]\nbetween = ['copper', 'tin']\nresistance = 0", "20:1: contacts.0.resistance: expected a number > 0 (m2 K/W), found 0"),
    ("[materials.tin]\nconductivity = 67.0\ndensity = 7300.0\nheat_capacity = 228.0\n[[contacts]]\nbetween = ['copper', 'tin']\nresistance = 1\n[[contacts]]\nbetween = ['tin', 'copper']\nresistance = 2", "22:1: contacts.1.between: contacts.0 is between these two materials too"),
    ("[ambients.room]\ntemperature = 300\ncoefficient = 1\n[[contacts]]\nbetween = ['copper', 'room']\nresistance = 1e-5", '18:22: contacts.0.between.1: expected the name of a material, found "room", an ambient (an ambient has its coefficient or resistance)'),
    ("[boundary]\nx_min = { kind = 'radiation', emissivity = 1.1, ambient = 300 }", "15:31: boundary.x_min.emissivity: expected a number from 0 to 1 or an expression in x, y, z, t, T, found 1.1"),
    ("[boundary]\nx_min = { kind = 'convection', coefficient = 'x + T', ambient = 300 }", '15:32: boundary.x_min.coefficient: expected an expression in T alone times one in x, y, z, t, found what mixes them (such as "(5 + 20*x) * abs(T - 300)**0.25")'),
    ("[boundary.x_min]\nkind = 'insulated'\npatches = [{ where = 'y > 0', kind = 'radiation', emissivity = 'min(x, T)', ambient = 1 }]", '16:51: boundary.x_min.patches.0.emissivity: expected an expression in T alone times one in x, y, z, t, found what mixes them (such as "(5 + 20*x) * abs(T - 300)**0.25")'),
    ("[boundary]\nx_min = { kind = 'fixed', temperature = 'T' }", '15:27: boundary.x_min.temperature: expected a number >= 0 or an expression in x, y, z, t (K), found "T": at character 1: T has no meaning here; the names are t, x, y, z, pi'),
    ("[ambients.room]\ntemperature = 300\ncoefficient = '2*T'", '16:1: ambients.room.coefficient: expected a number > 0 (W/(m2 K)), found "2*T"'),
    ("[ambients.room]\ntemperature = 300\ncoefficient = 1\n[[output.regions]]\nname = 'a'\nevery = 1\nmaterial = 'room'", '20:1: output.regions.0.material: expected the name of a material, found "room", an ambient (ambients are not solved)'),
    ("[boundary]\nx_min = { kind = 'radiation', emissivity = 0.5, ambient = -1 }", "15:49: boundary.x_min.ambient: expected a number >= 0 or an expression in x, y, z, t (K), found -1"),
    ("[boundary]\nx_min = { kind = 'radiation', emissivity = 0.5 }", "15:1: boundary.x_min.ambient: missing (Temperature of the surroundings, or an expression in x, y, z, t [K or degC])"),
    ("[boundary.x_min]\nkind = 'insulated'\npatches = [{ kind = 'flux', flux = 1 }]", '16:12: boundary.x_min.patches.0: expected where, a condition in x, y, z, found none (such as where = "x > 0.01")'),
    ("[boundary.x_min]\nkind = 'insulated'\npatches = [{ where = 'y > 0', flux = 1 }]", '16:12: boundary.x_min.patches.0.kind: expected "insulated", "fixed", "flux", "convection", "periodic" or "radiation", found none'),
    ("[boundary.x_min]\nkind = 'insulated'\npatches = [{ where = 'y > t', kind = 'flux', flux = 1 }]", '16:14: boundary.x_min.patches.0.where: expected a condition in x, y, z, found "y > t": at character 5: t has no meaning here; the names are x, y, z, pi'),
    ("[boundary.x_min]\nkind = 'insulated'\npatches = [{ where = 'y > 0', kind = 'periodic' }]", '16:31: boundary.x_min.patches.0.kind: expected "insulated", "fixed", "flux", "convection" or "radiation", found "periodic" (a face is periodic as a whole)'),
    ("[boundary.x_min]\nkind = 'insulated'\npatches = [{ where = 'y > 0', kind = 'flux', flux = 1, patches = [{ where = 'z > 0', kind = 'insulated' }] }]", "16:56: boundary.x_min.patches.0.patches: expected no patches on a patch (later patches lie over earlier)"),
    ("[boundary]\ndefault = { kind = 'periodic', patches = [{ where = 'y > 0', kind = 'insulated' }] }", "15:32: boundary.default.patches: expected no patches on a periodic face, found some"),
    ("[[sources]]\nbeam = { kind = 'gaussian', path = 'a.csv', power = 1, radius = 1e-3 }", "15:1: sources.0.beam.depth: missing (Depth at which 1/e of the intensity is left [m])"),
    ("[[sources]]\nbeam = { kind = 'gaussian', path = 'a.csv', power = -1, radius = 1e-3, depth = 1e-4 }", "15:45: sources.0.beam.power: expected a number >= 0 or an expression in t (W), found -1"),
    ("[[sources]]\nbeam = { kind = 'gaussian', path = 'a.csv', power = 'x', radius = 1e-3, depth = 1e-4 }", '15:45: sources.0.beam.power: expected a number >= 0 or an expression in t (W), found "x": at character 1: x has no meaning here; the names are t, pi'),
    ("[[sources]]\nbeam = { kind = 'gaussian', path = 'a.csv', power = 1, radius = 0, depth = 1e-4 }", "15:56: sources.0.beam.radius: expected a number > 0 (m), found 0"),
    ("[[sources]]\nbeam = { kind = 'gaussian', path = 'a.csv', power = 1, radius = 1, depth = 1, absorptivity = 1.5 }", "15:79: sources.0.beam.absorptivity: expected a number > 0 and <= 1, found 1.5"),
    ("[[sources]]\nbeam = { kind = 'gaussian', path = 'a.csv', power = 1, radius = 1, depth = 1, efficiency = 0.5 }", "15:79: sources.0.beam.efficiency: unknown key (known here: power, path, kind, radius, depth, absorptivity)"),
    ("[[sources]]\nbeam = { path = 'a.csv' }", '15:1: sources.0.beam.kind: expected "gaussian" or "goldak", found none'),
    ("[[sources]]\nbeam = { kind = 'gausian', path = 'a.csv' }", '15:10: sources.0.beam.kind: expected "gaussian" or "goldak", found "gausian" (did you mean "gaussian"?)'),
    ("[[sources]]\nbeam = 'scan.csv'", '15:1: sources.0.beam: expected a table, found "scan.csv" (such as { kind = "gaussian" })'),
    ("[[sources]]\nbeam = { kind = 'goldak', path = 'a.csv', power = 1, a = 1e-3, b = 1e-3, cf = 1e-3 }", "15:1: sources.0.beam.cr: missing (Length of the ellipsoid behind [m])"),
    ("[[sources]]\nbeam = { kind = 'goldak', path = 'a.csv', power = 1, a = 1e-3, b = 1e-3, cf = 1e-3, cr = 2e-3, ff = 0.6, fr = 1.5 }", "15:1: sources.0.beam: expected ff + fr = 2, found 2.1 (leave one of them out)"),
    ("[[sources]]\nbeam = { kind = 'goldak', path = 'a.csv', power = 1, a = 1e-3, b = 1e-3, cf = 1e-3, cr = 2e-3, ff = 3 }", "15:96: sources.0.beam.ff: expected a number > 0 and <= 2, found 3"),
    ("[[sources]]\nbeam = { kind = 'goldak', path = 'a.csv', power = 1, a = 1e-3, b = 1e-3, cf = 0, cr = 2e-3 }", "15:74: sources.0.beam.cf: expected a number > 0 (m), found 0"),
    ("[[sources]]\nbeam = { kind = 'gaussian', path = 'a.csv', power = 1, radius = 1e-3, depth = 1e-4 }\ntrace = 'b.csv'", "14:3: sources.0: expected one of power (W), power_density (W/m3), trace and beam, found trace and beam"),
    ("[[sources]]\nbeam = { kind = 'gaussian', path = 'a.csv', power = 1, radius = 1e-3, depth = 1e-4 }\nregion = { where = 'x > 0' }", "14:3: sources.0: expected beam without region, found both (a beam heats where it shines)"),
    ("[[sources]]\ntrace = 3", "15:1: sources.0.trace: expected the name of a .csv file, found 3"),
    ("[[sources]]\nbeam = { kind = 'gaussian', path = 'a.csv', power = 1, radius = 1e-3, depth = 1e-4 }\n[[smoothing]]\ntarget = 'sources'\nfilter = 'box'\nsigma = 0.02", "17:1: smoothing.0.target: expected sources without a beam to smooth, found a beam (a beam is smooth already: give it a larger radius)"),
    ("[output]\nfields = ['peak']", '15:11: output.fields.0: expected "peak_temperature", "cooling_rate", "heat_flux", "gradient", "melted_fraction" or "time_above", found "peak"'),
    ("[output]\nfields = 'gradient'", '15:1: output.fields: expected an array, found "gradient"'),
    ("[output]\nfields = ['gradient', 'gradient']", '14:2: output: expected each field once, found "gradient" 2 times in fields'),
    ("[output]\nfields = ['time_above']", '14:2: output: expected time_above with "time_above" in fields, found none (the temperature to exceed)'),
    ("[output]\ntime_above = 300", '14:2: output: expected "time_above" in fields with time_above, found none'),
    ("[output]\nfields = ['time_above']\ntime_above = -1", "16:1: output.time_above: expected a number >= 0 (K), found -1"),
    ("[output]\nfields = ['gradient', 'melted_fraction']", '15:23: output.fields.1: expected a material with latent for "melted_fraction", found none (latent = { heat, solidus, liquidus })'),
    ("[output]\nfields = ['cooling_rate']", '15:11: output.fields.0: expected cooling_through with "cooling_rate" in fields, found nothing that melts (the temperature to fall below)'),
    ("[output]\ncooling_through = 300", '14:2: output: expected "cooling_rate" in fields with cooling_through, found none'),
    ("[[output.regions]]\nname = 'a'\nevery = 1", "14:10: output.regions.0: expected one of a shape and a material, found none"),
    ("[[output.regions]]\nname = 'a'\nevery = 1\nmaterial = 'copper'\nwhere = 'x > 0'", "14:10: output.regions.0: expected one of a shape and a material, found where and material"),
    ("[[output.regions]]\nname = 'a'\nmaterial = 'copper'", "14:10: output.regions.0: expected one of every (s) and count, found none"),
    ("[[output.regions]]\nname = 'a'\nevery = 1\nmaterial = 'coper'", '17:1: output.regions.0.material: expected the name of a material, found "coper" (did you mean "copper"?)'),
    ("[[output.regions]]\nname = 'a'\nevery = 1\nsphere = { center = [1, 1, 1], radius = 0.1 }", "17:1: output.regions.0.sphere: lies outside the grid, which is x from 0 to 0.1, y from 0 to 0.1, z from 0 to 0.1 (m)"),
    ("[output]\nregions = [{ name = 'a', every = 1, material = 'copper' }, { name = 'A', every = 1, where = 'x > 0' }]", '15:62: output.regions.1.name: "A" is the name of output.regions.0 too (give it another name)'),
]  # fmt: skip

# (appended to the minimal scenario in cylindrical coordinates from line 15 on, the messages)
CYLINDRICAL = [
    ("[boundary]\ny_min = { kind = 'insulated' }", "16:1: boundary.y_min: expected no face along y in cylindrical coordinates: phi goes around"),
    ("[boundary]\nx_min = { kind = 'fixed', temperature = 300 }", "16:1: boundary.x_min: expected no face at r = 0, the axis (leave x_min out)"),
    ("[boundary]\nx_min = { kind = 'periodic' }\nx_max = { kind = 'periodic' }", "16:1: boundary.x_min: expected no face at r = 0, the axis (leave x_min out)\n16:1: boundary.x_min: expected a face that is not periodic along the radius\n17:1: boundary.x_max: expected a face that is not periodic along the radius"),
    ("[[regions]]\nmaterial = 'copper'\nsphere = { center = [0, 0, 0], radius = 0.05 }", "17:1: regions.1.sphere: expected box, where or labels in cylindrical coordinates, found sphere (box and where are in r, phi, z)"),
    ("[[sources]]\nbeam = { kind = 'gaussian', path = 'a.csv', power = 1, radius = 1e-3, depth = 1e-4 }", "16:1: sources.0.beam: expected Cartesian coordinates for a beam, found cylindrical ones"),
]  # fmt: skip


@pytest.fixture(autouse=True)
def all_built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unsupported, "NOT_YET", {})


def cylindrical(minimal: str) -> str:
    grid = "cells = [8, 1, 8]\nsize = [0.1, 6.283185307, 0.1]\ncoordinates = 'cylindrical'"
    return minimal.replace("cells = [8, 8, 8]\nsize = [0.1, 0.1, 0.1]", grid)


@pytest.mark.parametrize(("old", "new", "message"), MATERIALS_AND_GRIDS)
def test_a_wrong_material_or_grid_is_told_with_its_place(
    messages: Messages, minimal: str, old: str, new: str, message: str
) -> None:
    assert messages(minimal.replace(old, new, 1)) == message.split("\n")


@pytest.mark.parametrize(("added", "message"), TABLES)
def test_wrong_physics_is_told_with_its_place(messages: Messages, minimal: str, added: str, message: str) -> None:
    assert messages(minimal + added) == message.split("\n")


@pytest.mark.parametrize(("added", "message"), CYLINDRICAL)
def test_what_has_no_meaning_in_cylindrical_coordinates_is_refused(
    messages: Messages, minimal: str, added: str, message: str
) -> None:
    assert messages(cylindrical(minimal) + added) == message.split("\n")


def test_cells_size_and_origin_follow_from_axes_that_are_all_given(minimal: str) -> None:
    layers = "[{ thickness = 0.01, cells = 2 }, { thickness = 0.03, cells = 1 }]"
    axes = f"x = {{ edges = [-1, 0, 3] }}\ny = {{ edges = [0, 1] }}\nz = {{ layers = {layers} }}"
    grid = loads(minimal.replace("cells = [8, 8, 8]\nsize = [0.1, 0.1, 0.1]", axes)).grid
    assert (grid.cells, grid.size, grid.origin) == ((2, 1, 3), (4.0, 1.0, 0.04), (-1.0, 0.0, 0.0))
    assert grid.edges[:2] == ((-1.0, 0.0, 3.0), None)
    assert grid.edges[2] == pytest.approx((0.0, 0.005, 0.01, 0.04))


def test_an_axis_in_layers_beside_equal_cells_begins_at_the_origin(minimal: str) -> None:
    layers = "{ layers = [{ thickness = 0.025, cells = 1 }, { thickness = 0.075, cells = 7 }] }"
    grid = loads(minimal.replace("[grid]", f"[grid]\norigin = [0, 0, 1]\nz = {layers}")).grid
    assert grid.edges[:2] == (None, None)
    assert grid.edges[2] is not None
    assert grid.edges[2][0] == 1.0
    assert grid.edges[2][-1] == grid.upper[2]


def test_layers_of_equal_cells_are_an_ordinary_axis(minimal: str) -> None:
    layers = "{ layers = [{ thickness = 0.07, cells = 7 }, { thickness = 0.03, cells = 3 }] }"
    grid = loads(minimal.replace("cells = [8, 8, 8]", f"cells = [8, 8, 10]\nz = {layers}")).grid
    assert grid.unequal == ()
    assert grid.edges == (None, None, None)


GOLDAK = "[[sources]]\nbeam = {{ kind = 'goldak', path = 'a.csv', power = 1, a = 1, b = 1, cf = 1, cr = 3{} }}"


@pytest.mark.parametrize(
    ("given", "expected"), [("", (0.5, 1.5)), (", ff = 0.6", (0.6, 1.4)), (", fr = 1.2, ff = 0.8", (0.8, 1.2))]
)
def test_fractions_that_are_left_out_have_no_jump_in_the_middle(
    minimal: str, given: str, expected: tuple[float, float]
) -> None:
    scenario = loads(minimal + GOLDAK.format(given))
    beam = scenario.sources[0].beam
    assert beam is not None
    assert beam.kind == "goldak"
    assert (beam.ff, beam.fr) == pytest.approx(expected)
    assert loads(scenario.to_toml()) == scenario
