"""Derived vectors as fields of a snapshot: one field a component, as CF and VTK both read them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from heatsim.grid import AXES
from heatsim.store.snapshots import Field

_UNITS = {"heat_flux": "W m-2", "gradient": "K m-1"}
_NAMES = {"heat_flux": "heat flux", "gradient": "temperature gradient"}


def components(
    name: str, vector: Sequence[np.ndarray], dtype: np.dtype, coordinates: str = "cartesian"
) -> dict[str, Field]:
    """The fields `heat_flux_x` to `heat_flux_z` (or `gradient_x` ...) of a vector along x, y, z.

    In cylindrical coordinates they are `heat_flux_r` and `heat_flux_z`: nothing flows around the axis.
    """
    letters = dict(zip(AXES, ("r", "", "z") if coordinates == "cylindrical" else AXES, strict=True))
    return {
        f"{name}_{letters[axis]}": Field(values.astype(dtype), _UNITS[name], f"{_NAMES[name]} along {letters[axis]}")
        for axis, values in zip(AXES, vector, strict=True)
        if letters[axis]
    }
