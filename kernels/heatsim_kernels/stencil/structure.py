"""What a CUDA sweep is compiled for: which terms exist. Values are arguments; structure is compiled in."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .terms import Drive, Terms


class Structure(NamedTuple):
    """Which terms a kernel holds; kernels are built once a structure."""

    dtype: str
    pairs: bool  # rates by pairs of zones, or uniform
    zones: bool  # zones exist
    heat_table: bool
    heat_field: bool
    wall_per_cell: bool
    periodic: tuple[bool, bool, bool]

    @classmethod
    def of(cls, terms: Terms, drive: Drive, dtype: np.dtype) -> Structure:
        """The structure of a problem with the sources of this drive."""
        return cls(
            np.dtype(dtype).name,
            terms.exchange.ndim == 3,
            terms.zones is not None,
            drive.heat_table is not None,
            drive.heat_field is not None,
            terms.wall_per_cell,
            terms.periodic,
        )
