"""What a CUDA sweep is compiled for: which terms exist. Values are arguments; structure is compiled in."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from heatsim_kernels.stencil.terms import Forcing, StencilCoefficients


class StencilConfiguration(NamedTuple):
    """Which terms a kernel holds; kernels are built once a structure."""

    dtype: str
    uniform: bool  # one rate an axis for all cells; else six for each kind
    kinds: str  # the dtype of what tells the kind of each cell; "" where there is a single one
    heat_table: bool
    heat_field: bool
    wall_per_cell: bool
    periodic: tuple[bool, bool, bool]
    stage: str = ""  # "two" or "four": the fields that a stage of several is made of; "" for an explicit step

    @classmethod
    def of(cls, terms: StencilCoefficients, drive: Forcing, dtype: np.dtype) -> StencilConfiguration:
        """The structure of a problem with the sources of this drive."""
        return cls(
            np.dtype(dtype).name,
            terms.uniform,
            "" if terms.kinds is None else terms.kinds.dtype.name,
            drive.heat_table is not None,
            drive.heat_field is not None,
            terms.wall_per_cell,
            terms.periodic,
        )
