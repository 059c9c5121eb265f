"""Explicit steps of heat conduction on a 3-D grid, one data movement a file.

`STEPPERS` names them; the same names serve scenario files, the command line and the tests. All give the same bits.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np

    from heatsim_kernels.explicit.coefficients import Forcing, StencilCoefficients
    from heatsim_kernels.explicit.rk_stages import RkStage, TrapezoidalDefect
    from heatsim_kernels.explicit.slabs import GpuSlabLinks, SlabLinks
    from heatsim_kernels.field import Field


class ExplicitStepper(Protocol):
    """A field and the means to take explicit steps of it."""

    name: str
    dtype: np.dtype

    @property
    def coefficients(self) -> StencilCoefficients:
        """The coefficients of the problem."""

    @property
    def field(self) -> Field:
        """The field that is advanced."""

    @property
    def fused_steps(self) -> int:
        """Steps that a pass over memory takes, at most, so that fewer take as long; 1 where nothing depends on it."""

    def advance(self, dt: float, steps: int, forcing: Forcing) -> None:
        """Advance `steps` explicit Euler steps of `dt` seconds, with a sample of the field after each if it is tracked.
        With none, the kernels are only compiled and loaded."""

    def heat_entered(self) -> np.ndarray:
        """Heat that has entered since the start through each of `coefficients.FACES`, then from each ambient, J."""

    def ledger_state(self) -> dict[str, np.ndarray]:
        """What `heat_entered` is summed up from, and `total`, the sums: for `restore_ledger`."""

    def restore_ledger(self, saved: Mapping[str, np.ndarray]) -> None:
        """Count on from what `ledger_state` gave, to the same bits where the sums are split alike; from its total where
        they are not, as on another device or with another number of threads."""


class StageStepper(ExplicitStepper, Protocol):
    """An explicit stepper that takes the stages of Runge-Kutta methods, too."""

    def take_stages(self, dt: float, stages: Sequence[RkStage], first: int, forcing: Forcing) -> None:
        """Take stages number `first`, `first` + 1, ... of a step of `dt` seconds, each with its row of `forcing`. Stage
        0 begins a step from the field, and forgets one begun before. The field stays as it is until `accept`."""

    def defect(self, dt: float, rate: float, forcing: Forcing) -> TrapezoidalDefect:
        """The `TrapezoidalDefect` of the step whose stages were taken; `rate` is that of its first stage, `forcing`
        that of its end. Waits for the device."""

    def cells_at_end(self, indices: Any) -> Any:
        """What `Field.stored_cells` gives, after the stages taken."""

    def accept(self) -> None:
        """Make the last stage the field, and enter its heat in the ledger. The caller samples the field."""


class StepperBuilder(Protocol):
    """Makes the stepper of a problem, or of a slab of one with its links to the others."""

    def __call__(
        self, coefficients: StencilCoefficients, dtype: np.dtype, links: GpuSlabLinks | None = None
    ) -> StageStepper:
        """The stepper."""


def _cpu(coefficients: StencilCoefficients, dtype: np.dtype, links: SlabLinks | None = None) -> StageStepper:
    from heatsim_kernels.explicit.cpu.stepper import CpuStepper

    return CpuStepper(coefficients, dtype, links=links)


def _on_cuda(movement: str, *, fused: bool = False) -> StepperBuilder:
    def build(coefficients: StencilCoefficients, dtype: np.dtype, links: GpuSlabLinks | None = None) -> StageStepper:
        from heatsim_kernels.explicit.cuda.linear_pass import LinearCudaPass
        from heatsim_kernels.explicit.cuda.stepper import CudaStepper

        module = import_module(f".ladder.{movement}", __package__)
        sweep = LinearCudaPass(coefficients, dtype, module, fused=fused, links=links)
        return CudaStepper(coefficients, dtype, sweep, links)

    return build


ONE_STEP_KERNELS = ("basic", "shared", "coarsened", "register")  # of CUDA, that take a single step
CUDA_STEPPERS = (*ONE_STEP_KERNELS, "temporal")
# Name -> builder, in reading order. Builders import late: CUDA need not be installed.
STEPPERS: dict[str, StepperBuilder] = {
    "cpu": _cpu,
    **{movement: _on_cuda(movement) for movement in ONE_STEP_KERNELS},
    "temporal": _on_cuda("register", fused=True),
}
