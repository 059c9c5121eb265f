from __future__ import annotations

from collections.abc import Callable

import pytest

from heatsim.errors import ScenarioError
from heatsim.scenario import loads

# 13 lines: what a test appends begins at line 14
MINIMAL = """\
[grid]
cells = [8, 8, 8]
size = [0.1, 0.1, 0.1]
[time]
end = 10.0
[materials.copper]
conductivity = 398.0
density = 8960.0
heat_capacity = 385.0
[[regions]]
material = "copper"
[initial]
temperature = 293.15
"""


@pytest.fixture
def minimal() -> str:
    return MINIMAL


@pytest.fixture
def messages() -> Callable[..., list[str]]:
    """Return the messages for a text that must not load, without the common file name."""

    def complain(text: str, *overrides: str) -> list[str]:
        with pytest.raises(ScenarioError) as refusal:
            loads(text, "plate.toml", overrides)
        return [str(flaw).removeprefix("plate.toml:") for flaw in refusal.value.flaws]

    return complain
