"""A term of cells: heat that a body exchanges inside, in dependence on its temperature.

A kind has a file of its own beside this one: its keys, which are pydantic fields, and the power in a unit volume. The
rest follows from that: cells, bounds, the stable step, events, the account `sources` of the ledger, resuming,
estimates, and which integrators take it. `heatsim.scenario.sources` has a key for each kind. A kind knows neither grid
nor kernels.
"""

from __future__ import annotations

from typing import ClassVar

from heatsim.scenario.language.base_model import ScenarioBlock
from heatsim.scenario.language.expressions.expression import Expression, Value, depends_on


class CellTerm(ScenarioBlock):
    """What a kind has to say. Temperatures are in the scenario's unit."""

    in_proportion: ClassVar[bool] = False  # whether the power is for a heat capacity of 1 J/(m3 K)

    @property
    def density(self) -> Expression:
        """The power in a unit volume, W/m3, an expression that may hold x, y, z, t and T."""
        raise NotImplementedError

    @property
    def loss(self) -> float | None:
        """The coefficient L, W/(m3 K), or 1/s if `in_proportion`, where the power is L (`rest` - T) and L is one number
        at all places and times: then the kernels take the term. None for others, which are sources by cell."""
        return None

    @property
    def rest(self) -> Value:
        """The temperature at which a term with a `loss` gives nothing: a number, or an expression in x, y, z, t."""
        raise NotImplementedError

    @property
    def temperatures(self) -> tuple[Value, ...]:
        """Temperatures that the term draws the body to, beside 0."""
        return ()


def as_text(value: Value) -> str:
    """A number or an expression as a part of the text of another."""
    return value.text if isinstance(value, Expression) else repr(value)


def if_constant(value: Value) -> float | None:
    """A value that is one number at all places and times; None for another."""
    if isinstance(value, Expression):
        return None if depends_on(value, "xyzt") else float(value())
    return value


def parsed(text: str) -> Expression:
    """The expression of a power in a unit volume."""
    return Expression.parse(text, frozenset("xyztT"))
