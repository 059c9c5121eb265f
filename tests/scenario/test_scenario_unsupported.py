from __future__ import annotations

from collections.abc import Callable

import pytest

from heatsim.scenario import loads, unsupported

Messages = Callable[..., list[str]]

# For each line of the table: what a user writes, each appended to the minimal scenario or as "old -> new" in it;
# and the place and key that are refused.
SAMPLES: dict[str, tuple[str, ...]] = {
    "output.fields": ("[output]\nfields = ['peak_temperature']", "15:1: output.fields"),
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
