"""Stencil sweeps: explicit steps of heat conduction on a 3-D grid, one data movement a file.

`SWEEPS` names them; the same names serve scenario files, the command line and the tests. All give the same bits.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import numpy as np

    from heatsim_kernels.field.time_statistics import StatisticsRequest
    from heatsim_kernels.stencil.rk_stages import RkStage, TrapezoidalDefect
    from heatsim_kernels.stencil.terms import Forcing, StencilCoefficients


class ExplicitStepper(Protocol):
    """A field somewhere and the means to advance it. Arrays seen from outside are (nz, ny, nx) on the host."""

    name: str
    device: str  # "cpu" or "cuda"
    terms: StencilCoefficients
    dtype: np.dtype

    def put(self, planes: Iterable[np.ndarray]) -> None:
        """Set the field from its planes (ny, nx), z upwards."""

    def field(self) -> np.ndarray:
        """The field, to look at until the next `advance`; do not write to it."""

    def capture(self) -> Callable[[], np.ndarray] | None:
        """A function that gives the field of now, called once, later and from any thread; the host memory is taken
        then. None where that cannot be: the field is on the host, or the device is short of memory."""

    def plane(self, axis: int, index: int) -> np.ndarray:
        """A copy of one plane; axis 0, 1, 2 is z, y, x of the array."""

    def cells(self, indices: np.ndarray) -> np.ndarray:
        """The values of some cells, by flat index; any shape."""

    def stored(self) -> float:
        """Sum of heat capacity times the field, J, in float64."""

    def is_finite(self) -> bool:
        """Whether every value is a finite number."""

    def was_finite(self) -> bool:
        """`is_finite` without waiting for the device, which may answer for the state at the last call; then True at
        the first."""

    def heat_entered(self) -> np.ndarray:
        """Heat that has entered since the start through each of `terms.FACES`, then from each ambient, J."""

    def advance(self, dt: float, steps: int, drive: Forcing) -> None:
        """Advance `steps` explicit Euler steps of `dt` seconds."""

    def watch(self, wanted: StatisticsRequest) -> None:
        """Watch the field from now on: `advance` looks after each step."""

    def look(self, elapsed: float) -> None:
        """Take note of the field, if it is watched, `elapsed` s after the last look; for those who take stages."""

    def seen(self) -> dict[str, np.ndarray]:
        """What was seen of the field since `watch`, by name: see `watch.CpuWatch.fields`."""

    def take_stages(self, dt: float, stages: Sequence[RkStage], first: int, drive: Forcing) -> None:
        """Take stages number `first`, `first` + 1, ... of a step of `dt` seconds, each with its row of `drive`. Stage 0
        begins a step from the field, and forgets one begun before. The field stays as it is until `accept`."""

    def defect(self, dt: float, rate: float, drive: Forcing) -> TrapezoidalDefect:
        """The `TrapezoidalDefect` of the step whose stages were taken; `rate` is that of its first stage, `drive` that
        of its end. Waits for the device."""

    def accept(self) -> None:
        """Make the last stage the field, and enter its heat in the ledger."""


def _cpu(terms: StencilCoefficients, dtype: np.dtype) -> ExplicitStepper:
    from heatsim_kernels.stencil.cpu.stepper import CpuStepper

    return CpuStepper(terms, dtype)


def _temporal(terms: StencilCoefficients, dtype: np.dtype) -> ExplicitStepper:
    from heatsim_kernels.stencil.cuda.stepper import CudaStepper
    from heatsim_kernels.stencil.ladder import register

    return CudaStepper(terms, dtype, register, fused=True)


def _on_cuda(movement: str) -> Callable[[StencilCoefficients, np.dtype], ExplicitStepper]:
    def build(terms: StencilCoefficients, dtype: np.dtype) -> ExplicitStepper:
        from heatsim_kernels.stencil.cuda.stepper import CudaStepper

        return CudaStepper(terms, dtype, import_module(f".ladder.{movement}", __package__))

    return build


ONE_STEP_KERNELS = ("basic", "shared", "coarsened", "register")  # of CUDA, that take a single step
CUDA_SWEEPS = (*ONE_STEP_KERNELS, "temporal")
# Name -> builder(terms, dtype) -> Sweep, in reading order. Builders import late: CUDA need not be installed.
SWEEPS: dict[str, Callable[[StencilCoefficients, np.dtype], ExplicitStepper]] = {
    "cpu": _cpu,
    **{movement: _on_cuda(movement) for movement in ONE_STEP_KERNELS},
    "temporal": _temporal,
}
