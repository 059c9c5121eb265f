"""Explicit steps of temperature-dependent materials: k(T), C(T), latent heat, radiation.

From host to kernel: `material` (curves) -> `lookup_tables` (lines over the enthalpy) -> `coefficients` (faces, cell
classes) -> `kernel_arguments` (flat arrays). `cell` is the physics, `surface_balance` that of boundary faces. The two
steppers, `cpu.stepper` and `cuda.stepper`, give the same bits; their field stores the enthalpy, from which
`temperatures` finds the temperature. `time_step_limit` has the stable step, `linearised` the operator for implicit
solves.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np

    from heatsim_kernels.explicit import StageStepper
    from heatsim_kernels.explicit.enthalpy.coefficients import NonlinearCoefficients
    from heatsim_kernels.explicit.slabs import GpuSlabLinks, SlabLinks


class NonlinearStepperBuilder(Protocol):
    """As `stencil.StepperBuilder`."""

    def __call__(
        self, coefficients: NonlinearCoefficients, dtype: np.dtype, links: GpuSlabLinks | None = None
    ) -> StageStepper:
        """The stepper."""


def _cpu(coefficients: NonlinearCoefficients, dtype: np.dtype, links: SlabLinks | None = None) -> StageStepper:
    from heatsim_kernels.explicit.enthalpy.cpu.stepper import make_stepper

    return make_stepper(coefficients, dtype, links=links)


def _on_cuda(movement: str, *, fused: bool = False) -> NonlinearStepperBuilder:
    def build(coefficients: NonlinearCoefficients, dtype: np.dtype, links: GpuSlabLinks | None = None) -> StageStepper:
        from heatsim_kernels.explicit.cuda.stepper import CudaStepper
        from heatsim_kernels.explicit.enthalpy.cuda.enthalpy_pass import EnthalpyCudaPass

        module = import_module(f".cuda.{movement}", __package__)
        return CudaStepper(coefficients, dtype, EnthalpyCudaPass(coefficients, dtype, module, links, fused), links)

    return build


# Name -> builder, as `stencil.STEPPERS`.
NONLINEAR_STEPPERS: dict[str, NonlinearStepperBuilder] = {
    "cpu": _cpu,
    "basic": _on_cuda("basic"),
    "register": _on_cuda("register"),
    "temporal": _on_cuda("register", fused=True),
}
