"""CPU: the heat that a field of a single cell class holds, and what it loses: see `LossesOfOneClass`."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from heatsim_kernels.explicit.coefficients import Forcing, StencilCoefficients
from heatsim_kernels.explicit.heat_ledger import LossesOfOneClass
from heatsim_kernels.explicit.slabs import SlabLinks, heat_of_slabs
from heatsim_kernels.field.cpu.field import CpuField

MOST_BYTES, MOST_PASSES = 2**21, 64  # of the sums of heat that are kept step by step


class CpuHeldHeat:
    """The heat that the field of a single cell class holds, of which it loses a share in each step.

    It is taken from the cells after they were changed otherwise than by explicit steps, and then follows from the
    sums of each step. These are added step by step, so that it does not depend on batches.
    """

    def __init__(
        self, losses: LossesOfOneClass, field: CpuField, flows: np.ndarray, fused: int, links: SlabLinks | None
    ) -> None:
        """flows: (blocks, nz, FLOWS) sums of heat, as passes of `fused` steps have them."""
        self._losses, self._field, self._links = losses, field, links
        self._own = slice(None) if links is None else links.slab.own
        self._first = links is None or links.slab.first == 0  # enters the losses of the whole grid
        passes = max(1, min(MOST_PASSES, MOST_BYTES // (fused * flows.nbytes)))
        self.most_steps = passes * fused
        self._flows = np.zeros((self.most_steps, *flows.shape))
        self._held, self._known_at = 0.0, -1  # after how many changes of the field it is known

    @classmethod
    def of(
        cls,
        coefficients: StencilCoefficients,
        field: CpuField,
        flows: np.ndarray,
        fused: int,
        links: SlabLinks | None = None,
    ) -> CpuHeldHeat | None:
        """That of a problem, or of a slab of it; None if it has several cell classes or no losses."""
        losses = LossesOfOneClass.of(coefficients, field.dtype, links)
        return None if losses is None else cls(losses, field, flows, fused, links)

    def flows_of(self, steps: int) -> np.ndarray:
        """(steps, blocks, nz, FLOWS) room for the sums of at most `most_steps` steps, 0, before they are taken."""
        if self._known_at != self._field.changes:
            field, links = self._field, self._links
            self._held = field.stored() if links is None else heat_of_slabs(field, links)
            self._known_at = field.changes
        self._flows[:steps] = 0.0
        return self._flows[:steps]

    def enter(self, dt: float, forcing: Forcing, flows: np.ndarray, total: np.ndarray) -> None:
        """Add the sums of steps of `dt` s that were taken to `total`, with their losses."""
        share, released = self._losses.share(dt), self._losses.released(dt, forcing).tolist()
        by_plane = flows[:, :, self._own].sum(axis=3).sum(axis=1)
        whole = by_plane if self._links is None else self._links.whole(by_plane, axis=1)
        entered = whole.sum(axis=1).tolist()
        for step, of_step in enumerate(flows):
            lost = share * self._held
            total += of_step
            if self._first:
                total[0, self._own.start or 0, -1] -= lost
            self._held += entered[step] + released[min(step, len(released) - 1)] - lost

    def state(self) -> dict[str, np.ndarray]:
        """What `restore` takes, if it is known."""
        return {"held": np.array([self._held])} if self._known_at == self._field.changes else {}

    def restore(self, saved: Mapping[str, np.ndarray]) -> None:
        """Go on from what `state` gave for the field as it is; a GPU keeps it in several accounts."""
        if "held" in saved:
            self._held, self._known_at = float(saved["held"].sum()), self._field.changes
