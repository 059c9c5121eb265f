"""The part of the grid that a block of threads works on: a choice of speed, never of results."""

from __future__ import annotations

from typing import NamedTuple


class Tile(NamedTuple):
    """Threads of a block along x, y and z, and the planes that it marches through."""

    x: int
    y: int
    z: int = 1
    planes: int = 1

    @property
    def block(self) -> tuple[int, int, int]:
        """The threads of a block."""
        return self.x, self.y, self.z
