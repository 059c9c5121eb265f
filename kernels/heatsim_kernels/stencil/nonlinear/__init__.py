"""Explicit sweeps of materials that follow temperature: k(T), C(T), latent heat, radiation.

From host to kernel: `material` (curves) -> `tables` (lines over the enthalpy) -> `terms` (faces, kinds of cells) ->
`numbers` (flat arrays). `cell` is the physics, `surface` that of walls; `cpu` and `cuda_sweep` are the sweeps, which
give the same bits and obey `Sweep`. `limits` has the stable step, `linearised` the operator for implicit solves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np

    from heatsim_kernels.stencil import Sweep
    from heatsim_kernels.stencil.nonlinear.terms import NonlinearTerms


def _cpu(terms: NonlinearTerms, dtype: np.dtype) -> Sweep:
    from heatsim_kernels.stencil.nonlinear.cpu import NonlinearCpuSweep

    return NonlinearCpuSweep(terms, dtype)  # type: ignore[return-value]


def _on_cuda(movement: str) -> Callable[[NonlinearTerms, np.dtype], Sweep]:
    def build(terms: NonlinearTerms, dtype: np.dtype) -> Sweep:
        from importlib import import_module

        from heatsim_kernels.stencil.nonlinear.cuda_sweep import NonlinearCudaSweep

        return NonlinearCudaSweep(terms, dtype, import_module(f".cuda_{movement}", __package__))  # type: ignore[return-value]

    return build


# Name -> builder(terms, dtype) -> Sweep, as `stencil.SWEEPS`.
NONLINEAR_SWEEPS: dict[str, Callable[[NonlinearTerms, np.dtype], Sweep]] = {
    "cpu": _cpu,
    "basic": _on_cuda("basic"),
    "register": _on_cuda("register"),
}
