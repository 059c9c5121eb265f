"""Explicit steps of temperature-dependent materials: k(T), C(T), latent heat, radiation.

From host to kernel: `material` (curves) -> `lookup_tables` (lines over the enthalpy) -> `coefficients` (faces, cell
classes) -> `kernel_arguments` (flat arrays). `cell` is the physics, `surface_balance` that of boundary faces. The two
steppers, `cpu.stepper` and `cuda.stepper`, give the same bits; their field stores the enthalpy, from which
`temperatures` finds the temperature. `time_step_limit` has the stable step, `linearised` the operator for implicit
solves.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np

    from heatsim_kernels.enthalpy.coefficients import NonlinearCoefficients
    from heatsim_kernels.stencil import StageStepper


def _cpu(coefficients: NonlinearCoefficients, dtype: np.dtype) -> StageStepper:
    from heatsim_kernels.enthalpy.cpu.stepper import make_stepper

    return make_stepper(coefficients, dtype)


def _on_cuda(movement: str) -> Callable[[NonlinearCoefficients, np.dtype], StageStepper]:
    def build(coefficients: NonlinearCoefficients, dtype: np.dtype) -> StageStepper:
        from heatsim_kernels.enthalpy.cuda.enthalpy_pass import EnthalpyCudaPass
        from heatsim_kernels.stencil.cuda.stepper import CudaStepper

        module = import_module(f".cuda.{movement}", __package__)
        return CudaStepper(coefficients, dtype, EnthalpyCudaPass(coefficients, dtype, module))

    return build


# Name -> builder(coefficients, dtype), as `stencil.STEPPERS`.
NONLINEAR_STEPPERS: dict[str, Callable[[NonlinearCoefficients, np.dtype], StageStepper]] = {
    "cpu": _cpu,
    "basic": _on_cuda("basic"),
    "register": _on_cuda("register"),
}
