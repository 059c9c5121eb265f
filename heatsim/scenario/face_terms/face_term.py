"""A term of faces: heat that passes from cell to cell by another law than conduction, as a flow carries it.

A kind has a file of its own beside this one: its keys, which are pydantic fields, and the heat flux through a face
between two temperatures. The rest follows from that, by `heatsim.problem.terms.face_flows`: faces and areas, the stable
step, the accounts of the sides of the box in the ledger, resuming, estimates, and which integrators take it. The
scenario has a key for each kind. A kind knows neither grid nor kernels.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from heatsim.scenario.language.base_model import ScenarioBlock
from heatsim.scenario.language.expressions.expression import Value


class FaceTerm(ScenarioBlock):
    """What a kind has to say. Temperatures are in the scenario's unit, (n,) of n faces."""

    axes: ClassVar[str] = "xyz"  # along which heat passes

    def flux(self, axis: str, lower: np.ndarray, upper: np.ndarray, time: float) -> np.ndarray:
        """(n,) heat flux along an axis at a time, s, W/m2, between the temperatures of the cells on the lower and on
        the upper side. It must not fall with the lower, nor rise with the upper: explicit steps are stable then."""
        raise NotImplementedError

    def outside(self, side: str, beside: np.ndarray, time: float) -> np.ndarray:
        """(n,) the temperatures beyond a side of the box, such as "x_min", of cells at the temperatures `beside`."""
        return beside

    @property
    def inputs(self) -> tuple[Value, ...]:
        """All that is given as a number or an expression."""
        return ()

    @property
    def temperatures(self) -> tuple[Value, ...]:
        """Those of it that are temperatures to which the term draws the body."""
        return ()
