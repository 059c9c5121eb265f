"""What vanishes at a rate, of a quantity other than temperature."""

from __future__ import annotations

from typing import Annotated, ClassVar

from heatsim.scenario.cell_terms.cell_term import CellTerm, as_text, if_constant, parsed
from heatsim.scenario.language.expressions.expression import Expression, Value
from heatsim.scenario.language.value_types import Number, quantity


class Decay(CellTerm):
    """A share of what is there vanishes in a second: -rate * T for each unit of capacity. rate: 1/s."""

    in_proportion: ClassVar[bool] = True

    rate: Annotated[float | Expression, quantity(Number("1/s", least=0), "xyzt")]

    @property
    def density(self) -> Expression:
        """-k T."""
        return parsed(f"-({as_text(self.rate)})*T")

    @property
    def loss(self) -> float | None:
        """k."""
        return if_constant(self.rate)

    @property
    def rest(self) -> Value:
        """0."""
        return 0.0
