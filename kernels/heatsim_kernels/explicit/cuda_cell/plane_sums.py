"""Sums of heat on the GPU, laid out by plane: so that slabs of planes, each on a GPU, have those of the whole grid.

    account            columns
    x and y faces      0 1 2 ... nz - 1                what has entered plane by plane
    z faces            0 1 2 ... end blocks - 1        one plane, which many blocks share
    ambients           0 1 2 ... nz - 1

Each block has a slot of its own and adds in the same order, whatever other planes its GPU has.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from heatsim_kernels.explicit.slabs import Slab, SlabLinks

Z_FACES = slice(4, 6)  # among the FACES


class PlaneSums(NamedTuple):
    """Sums of the planes of a slab, halos included: `end_blocks` columns for a face of z; links: to other slabs."""

    slab: Slab
    end_blocks: int
    links: SlabLinks | None = None

    @classmethod
    def of(cls, shape: tuple[int, int, int], end_blocks: int, links: SlabLinks | None) -> PlaneSums:
        """Those of a field of `shape`, which is that of the slab if there are links."""
        return cls(Slab(shape, 0, shape[0], 0, 0) if links is None else links.slab, end_blocks, links)

    @property
    def columns(self) -> int:
        """Columns of an account on the device."""
        return max(self.slab.shape[0], self.end_blocks)

    @property
    def first(self) -> bool:
        """Whether this is the first slab, which keeps what belongs to no plane."""
        return self.slab.first == 0

    def size(self, accounts: int) -> int:
        """Items of `whole`."""
        return accounts * self.slab.cells[0] + 2 * self.end_blocks

    def whole(self, sums: np.ndarray) -> np.ndarray:
        """The sums (accounts, columns) of all slabs, flat: each account by plane, then those of the two faces of z."""
        by_plane, ends = sums[:, : self.slab.shape[0]].copy(), sums[Z_FACES, : self.end_blocks]
        by_plane[Z_FACES] = 0.0
        if self.links is not None:
            by_plane = self.links.whole(by_plane[:, self.slab.own], axis=1)
            # One slab alone has entered something there: to add the others changes no bit.
            ends = self.links.together(ends[None]).sum(axis=0)
        return np.concatenate((by_plane.reshape(-1), ends.reshape(-1)))

    def part(self, whole: np.ndarray, accounts: int) -> np.ndarray:
        """The sums (accounts, columns) of this slab, from what `whole` gave."""
        sums, cells = np.zeros((accounts, self.columns)), self.slab.cells[0]
        by_plane, ends = np.split(whole, [accounts * cells])
        sums[:, : self.slab.shape[0]] = by_plane.reshape(accounts, cells)[:, self.slab.planes]
        sums[Z_FACES] = 0.0
        for account, there in ((4, self.first), (5, self.slab.end == cells)):
            if there:
                sums[account, : self.end_blocks] = ends.reshape(2, -1)[account - 4]
        return sums

    def spread(self, totals: np.ndarray) -> np.ndarray:
        """As `whole`, sums that have these totals (accounts,)."""
        by_plane, ends = np.zeros((len(totals), self.slab.cells[0])), np.zeros((2, self.end_blocks))
        by_plane[:, 0], ends[:, 0] = totals, totals[Z_FACES]
        by_plane[Z_FACES] = 0.0
        return np.concatenate((by_plane.reshape(-1), ends.reshape(-1)))

    def totals(self, whole: np.ndarray, accounts: int) -> np.ndarray:
        """(accounts,) the sums of what `whole` gave."""
        by_plane, ends = np.split(whole, [accounts * self.slab.cells[0]])
        totals = by_plane.reshape(accounts, -1).sum(axis=1)
        totals[Z_FACES] = ends.reshape(2, -1).sum(axis=1)
        return np.asarray(totals)
