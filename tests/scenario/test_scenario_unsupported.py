from __future__ import annotations

from collections.abc import Callable

import pytest

from heatsim.scenario import loads, unsupported

Messages = Callable[..., list[str]]

TABLE = "{ T = [300, 400], value = [1, 2] }"
WALL = "[boundary]\nx_min = { kind = 'insulated', "

# For each line of the table: what a user writes, each appended to the minimal scenario or as "old -> new" in it;
# and the place and key that are refused.
SAMPLES: dict[str, tuple[str, ...]] = {
    "grid.coordinates=cylindrical": (
        "cells = [8, 8, 8]\nsize = [0.1, 0.1, 0.1] -> "
        "coordinates = 'cylindrical'\ncells = [8, 1, 8]\nsize = [0.1, 6.283185307179586, 0.1]",
        "2:1: grid.coordinates",
    ),
    "grid.x": ("[8, -> [2,", "[grid]\n -> [grid]\nx = { edges = [0, 0.02, 0.1] }\n", "2:1: grid.x"),
    "grid.y": ("8, 8] -> 2, 8]", "[grid]\n -> [grid]\ny = { edges = [0, 0.02, 0.1] }\n", "2:1: grid.y"),
    "grid.z": (
        "8, 8] -> 8, 2]",
        "[grid]\n -> [grid]\nz = { layers = [{ thickness = 0.1, cells = 2 }] }\n",
        "2:1: grid.z",
    ),
    "time.integrator=rkl2": ("[time] -> [time]\nintegrator = 'rkl2'", "5:1: time.integrator"),
    "time.integrator=implicit": ("[time] -> [time]\nintegrator = 'implicit'", "5:1: time.integrator"),
    "time.integrator=steady": ("[time] -> [time]\nintegrator = 'steady'", "5:1: time.integrator"),
    "time.tolerance": ("[time] -> [time]\ntolerance = 1e-3", "5:1: time.tolerance"),
    "materials.*.conductivity=<table>": (f"398.0 -> {TABLE}", "7:1: materials.copper.conductivity"),
    "materials.*.conductivity=<text>": ("398.0 -> '400 - 0.1*T'", "7:1: materials.copper.conductivity"),
    "materials.*.heat_capacity=<table>": (f"385.0 -> {TABLE}", "9:1: materials.copper.heat_capacity"),
    "materials.*.heat_capacity=<text>": ("385.0 -> '300 + 0.1*T'", "9:1: materials.copper.heat_capacity"),
    "materials.*.latent": (
        "385.0 -> 385.0\nlatent = { heat = 2e5, solidus = 1350.0, liquidus = 1360.0 }",
        "10:1: materials.copper.latent",
    ),
    "ambients": ("[ambients.room]\ntemperature = 293.15\ncoefficient = 7.69", "14:2: ambients"),
    "regions.*.stl": ("[[regions]]\nmaterial = 'copper'\nstl = 'part.stl'", "16:1: regions.1.stl"),
    "contacts": (
        "[materials.tin]\nconductivity = 67.0\ndensity = 7300.0\nheat_capacity = 228.0\n"
        "[[contacts]]\nbetween = ['copper', 'tin']\nresistance = 1e-5",
        "18:3: contacts",
    ),
    "boundary.*.kind=radiation": (
        "[boundary]\nx_min = { kind = 'radiation', emissivity = 0.9, ambient = 300 }",
        "15:11: boundary.x_min.kind",
    ),
    "boundary.*.patches.*.kind=radiation": (
        WALL + "patches = [{ where = 'y > 0', kind = 'radiation', emissivity = 0.5, ambient = 300 }] }",
        "15:61: boundary.x_min.patches.0.kind",
    ),
    "sources.*.region.stl": (
        "[[sources]]\npower = 1\nregion = { stl = 'a.stl' }",
        "16:12: sources.0.region.stl",
    ),
    "output.fields": ("[output]\nfields = ['peak_temperature']", "15:1: output.fields"),
    "output.regions": ("[[output.regions]]\nname = 'all'\nmaterial = 'copper'\nevery = 1", "14:10: output.regions"),
    "output.checkpoint": ("[output]\ncheckpoint = { every_minutes = 10 }", "15:1: output.checkpoint"),
}


def written(minimal: str, *samples: str) -> str:
    text = minimal
    for sample in samples:
        old, arrow, new = sample.partition(" -> ")
        text = text.replace(old, new, 1) if arrow else text + sample
    return text


@pytest.mark.parametrize("pattern", unsupported.NOT_YET)
def test_what_is_not_built_is_refused_as_such_and_as_nothing_else(
    messages: Messages, minimal: str, pattern: str
) -> None:
    *samples, place = SAMPLES[pattern]
    (message,) = messages(written(minimal, *samples))
    assert message.startswith(f"{place}: ")
    assert message.endswith(f"not supported yet, waits for {unsupported.NOT_YET[pattern]}")


@pytest.mark.parametrize("pattern", unsupported.NOT_YET)
def test_deleting_its_line_is_all_that_the_scenario_room_needs_for_a_feature(
    minimal: str, pattern: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(unsupported.NOT_YET, pattern)
    scenario = loads(written(minimal, *SAMPLES[pattern][:-1]))
    assert loads(scenario.to_toml()) == scenario


def test_mistakes_inside_what_is_not_built_are_not_told_too(
    messages: Messages, minimal: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unsupported, "NOT_YET", {"ambients": "ambient regions", "contacts": "contact resistances"})
    text = minimal + "[ambients.room]\ntemperatur = 3\n[[contacts]]\nbetween = 'all'\n"
    assert messages(text) == [
        "14:2: ambients: not supported yet, waits for ambient regions",
        "16:3: contacts: not supported yet, waits for contact resistances",
    ]
