"""Explicit steps of temperature-dependent materials: k(T), C(T), latent heat, radiation.

From host to kernel: `material` (curves) -> `tables` (lines over the enthalpy) -> `coefficients` (faces, cell classes)
-> `kernel_arguments` (flat arrays). `cell` is the physics, `surface_balance` that of boundary faces. The two steppers,
`cpu.stepper` and `cuda.stepper`, give the same bits; their field stores the enthalpy, from which `temperatures` finds
the temperature. `time_step_limit` has the stable step, `linearised` the operator for implicit solves.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np

    from heatsim_kernels.enthalpy.coefficients import NonlinearCoefficients, NonlinearForcing
    from heatsim_kernels.stencil import ExplicitStepper

    EnthalpyStepper = ExplicitStepper[NonlinearForcing]


def _cpu(coefficients: NonlinearCoefficients, dtype: np.dtype) -> EnthalpyStepper:
    from heatsim_kernels.enthalpy.cpu.stepper import EnthalpyCpuStepper

    return EnthalpyCpuStepper(coefficients, dtype)


def _on_cuda(movement: str) -> Callable[[NonlinearCoefficients, np.dtype], EnthalpyStepper]:
    def build(coefficients: NonlinearCoefficients, dtype: np.dtype) -> EnthalpyStepper:
        from heatsim_kernels.enthalpy.cuda.stepper import EnthalpyCudaStepper

        return EnthalpyCudaStepper(coefficients, dtype, import_module(f".cuda.{movement}", __package__))

    return build


# Name -> builder(terms, dtype), as `stencil.SWEEPS`.
NONLINEAR_SWEEPS: dict[str, Callable[[NonlinearCoefficients, np.dtype], EnthalpyStepper]] = {
    "cpu": _cpu,
    "basic": _on_cuda("basic"),
    "register": _on_cuda("register"),
}
