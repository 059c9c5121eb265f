"""Convolution passes over what goes into a run or comes out of it."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from heatsim.scenario.part import Part
from heatsim.scenario.values import Number, numbers, quantity
from heatsim.scenario.wording import flaw

Row = Annotated[tuple[float, ...], numbers(Number("1"))]


class Smoothing(Part):
    """One convolution pass."""

    target: Literal["initial", "sources", "slices"] = Field(description="What is smoothed")
    filter: Literal["gaussian", "box", "binomial"] | None = Field(None, description="The filter")
    mask: tuple[Row, ...] | None = Field(None, description="Or: the weights of the filter, row by row [1]")
    sigma: Annotated[float | None, quantity(Number("m", above=0))] = Field(
        None, description="Standard deviation of the filter [m]"
    )
    edges: Literal["zero", "nearest", "reflect", "wrap"] = Field("nearest", description="What lies beyond the edges")
    kernel: str = Field("auto", description="Convolution kernel; auto = the fastest that applies")

    @model_validator(mode="after")
    def _has_one_filter(self) -> Self:
        if (self.filter is None) == (self.mask is None):
            raise flaw(f"expected one of filter and mask, found {'none' if self.mask is None else 'both'}")
        if self.filter is not None and self.sigma is None:
            raise flaw("expected sigma (m) with a filter, found none")
        return self
