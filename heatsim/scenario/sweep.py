"""`[sweep]`: the values that parameters take in a family of runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from heatsim.errors import RequestError
from heatsim.scenario.language.base_model import ScenarioBlock
from heatsim.scenario.language.toml.messages import found, validation_error, validation_error_at
from heatsim.scenario.language.value_types import Number, ValidationContext, ValueType, file_name, quantity
from heatsim.scenario.sweep_axes import axis_of_table


def _check(value: Any, context: ValidationContext) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise validation_error(f"expected a table of parameters, found {found(value)}", "vary = { h = [5.0, 10.0] }")
    for name, given in value.items():
        try:
            axis_of_table(name, given)
        except RequestError as error:
            message = str(error).partition(": ")[2]
            raise validation_error_at((name,), message, "such as [5, 10] or { from = 1, to = 9, count = 5 }") from None
    return value


VARY = ValueType(_check, {"type": "object"})


class Sweep(ScenarioBlock):
    """The runs of `heatsim sweep FILE`; other commands take the parameters as they stand."""

    vary: Annotated[dict[str, Any], VARY] = Field(
        {}, description="Values of each parameter, or of a key with dots: a list, or { from, to, count }"
    )
    file: Annotated[Path | None, file_name("the name of a .csv file")] = Field(
        None, description="CSV file with a line of names, a run in each further line"
    )
    method: Literal["product", "zip", "latin_hypercube"] = Field(
        "product", description="All combinations; values side by side; or a Latin hypercube of ranges"
    )
    samples: Annotated[int | None, quantity(Number("1", least=1, whole=True))] = Field(
        None, description="Runs of a Latin hypercube [1]"
    )
    seed: Annotated[int, quantity(Number("1", least=0, whole=True))] = Field(
        0, description="Seed of a Latin hypercube [1]"
    )

    @model_validator(mode="after")
    def _has_something_to_vary(self) -> Self:
        if bool(self.vary) == (self.file is not None):
            raise validation_error("expected one of vary and file", "vary = { h = [5.0, 10.0] }")
        return self
