from __future__ import annotations

from collections.abc import Callable

import pytest
from helpers.scenario_texts import MINIMAL

from heatsim.errors import ScenarioError
from heatsim.scenario import loads


@pytest.fixture
def minimal() -> str:
    return MINIMAL


@pytest.fixture
def messages() -> Callable[..., list[str]]:
    """Return the messages for a text that must not load, without the common file name."""

    def complain(text: str, *overrides: str) -> list[str]:
        with pytest.raises(ScenarioError) as refusal:
            loads(text, "plate.toml", overrides)
        return [str(flaw).removeprefix("plate.toml:") for flaw in refusal.value.issues]

    return complain
