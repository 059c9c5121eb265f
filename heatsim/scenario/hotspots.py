"""The search for hot spots on the slices."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from heatsim.scenario.language.base_model import ScenarioBlock
from heatsim.scenario.language.value_types import Number, numbers, quantity

MAX_FRAMES = 100


class Hotspots(ScenarioBlock):
    """Search for hot spots on the slices, at the end of the run."""

    scales: Annotated[tuple[float, ...], numbers(Number("m", above=0))] = Field(
        description="Sizes of the spots to look for, as standard deviations [m]"
    )
    threshold: Annotated[float, quantity(Number("K", above=0))] = Field(
        description="Least rise over the surroundings [K]"
    )
    frames: Annotated[int, quantity(Number("1", least=1, most=MAX_FRAMES, whole=True))] = Field(
        1, description="Number of last frames of a slice of which the mean is searched [1]"
    )
