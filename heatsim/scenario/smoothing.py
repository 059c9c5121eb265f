"""Convolution passes over what goes into a run or comes out of it."""

from __future__ import annotations

from math import isclose
from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from heatsim.scenario.language.base_model import ScenarioBlock, require_one_of
from heatsim.scenario.language.toml.messages import validation_error
from heatsim.scenario.language.value_types import Number, numbers, quantity

MAX_MASK_WIDTH = 31  # weights of a mask along an axis, as the kernels have it

Row = Annotated[tuple[float, ...], numbers(Number("1"))]
Kernel = Literal["auto", "cpu", "basic", "constant", "tiled", "output_tiled", "cached", "register"]


class Smoothing(ScenarioBlock):
    """One convolution pass, along every axis that has more than one cell."""

    target: Literal["initial", "sources", "slices"] = Field(
        description="What is smoothed: the initial temperature, the power density of all sources, or recorded slices"
    )
    filter: Literal["gaussian", "box", "binomial"] | None = Field(None, description="The filter")
    mask: tuple[Row, ...] | None = Field(
        None,
        description="Or: the weights of the filter, row by row, upwards; a row runs along x; scaled to sum 1 [1]",
    )
    sigma: Annotated[float | None, quantity(Number("m", above=0))] = Field(
        None, description="Standard deviation of the filter along every axis [m]"
    )
    edges: Literal["zero", "nearest", "reflect", "wrap"] = Field(
        "nearest", description="What lies beyond the edges; reflect and wrap keep the mean"
    )
    kernel: Kernel = Field("auto", description="Convolution kernel; auto = the fastest that applies")

    @field_validator("mask")
    @classmethod
    def _has_a_middle_and_a_sum(cls, mask: tuple[Row, ...] | None) -> tuple[Row, ...] | None:
        if mask is None:
            return mask
        widths = {len(row) for row in mask}
        if len(widths) > 1:
            raise validation_error(f"expected rows of one length, found {min(widths)} and {max(widths)}")
        rows, columns = len(mask), widths.pop() if widths else 0
        if rows % 2 == 0 or columns % 2 == 0 or max(rows, columns) > MAX_MASK_WIDTH:
            expected = f"expected an odd number of rows and of columns, at most {MAX_MASK_WIDTH}"
            raise validation_error(f"{expected}, found {rows} x {columns}", "so that the mask has a middle")
        weights = [weight for row in mask for weight in row]
        if sum(weights) <= 0 or isclose(sum(weights), 0.0, abs_tol=1e-9 * max(map(abs, weights))):
            raise validation_error(
                f"expected weights with a sum > 0, found {sum(weights):g}", "they are scaled to sum 1"
            )
        return mask

    @model_validator(mode="after")
    def _has_one_filter(self) -> Self:
        require_one_of(self, filter="", mask="")
        if self.filter is not None and self.sigma is None:
            raise validation_error("expected sigma (m) with a filter, found none")
        if self.mask is not None and self.sigma is not None:
            raise validation_error(
                "expected a mask without sigma (m), found both", "a mask has the width that its weights have"
            )
        return self

    @model_validator(mode="after")
    def _has_a_kernel_for_the_filter(self) -> Self:
        if self.kernel == "output_tiled" and self.mask is None:
            message = f'"output_tiled" is a kernel for masks; a {self.filter} filter passes along one axis at a time'
            raise validation_error(message, 'kernel = "tiled" serves both')
        return self
