"""Explicit sweeps of materials that follow temperature: k(T), C(T), latent heat, radiation.

From host to kernel: `material` (curves) -> `tables` (lines over the enthalpy) -> `terms` (faces, kinds of cells) ->
`numbers` (flat arrays). `cell` is the physics, `surface` that of walls; `cpu` and `cuda_sweep` are the sweeps, which
give the same bits and obey `ExplicitStepper`. `limits` has the stable step, `linearised` the operator for implicit
solves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np

    from heatsim_kernels.enthalpy.coefficients import NonlinearCoefficients
    from heatsim_kernels.stencil import ExplicitStepper


def _cpu(terms: NonlinearCoefficients, dtype: np.dtype) -> ExplicitStepper:
    from heatsim_kernels.enthalpy.cpu.stepper import EnthalpyCpuStepper

    return EnthalpyCpuStepper(terms, dtype)  # type: ignore[return-value]


def _on_cuda(movement: str) -> Callable[[NonlinearCoefficients, np.dtype], ExplicitStepper]:
    def build(terms: NonlinearCoefficients, dtype: np.dtype) -> ExplicitStepper:
        from importlib import import_module

        from heatsim_kernels.enthalpy.cuda.stepper import EnthalpyCudaStepper

        return EnthalpyCudaStepper(terms, dtype, import_module(f".cuda.{movement}", __package__))  # type: ignore[return-value]

    return build


# Name -> builder(terms, dtype) -> Sweep, as `stencil.SWEEPS`.
NONLINEAR_SWEEPS: dict[str, Callable[[NonlinearCoefficients, np.dtype], ExplicitStepper]] = {
    "cpu": _cpu,
    "basic": _on_cuda("basic"),
    "register": _on_cuda("register"),
}
