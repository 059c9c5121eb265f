"""Conjugate gradients in float64, preconditioned by a multigrid cycle in float32.

The preconditioner is symmetric but for float32 rounding, so the direction is made orthogonal by Polak and Ribiere's
formula, beta = z . (r - r_old) / z_old . r_old, which stands that (Golub and Ye 1999); r - r_old is -alpha A p, so it
costs no further field. The preconditioner is given r over the norm of the last r, which float32 holds however small r
gets.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isfinite, sqrt
from typing import Any

import numpy as np

from heatsim_kernels.solver.cpu import operations
from heatsim_kernels.solver.hierarchy import SWEEPS_A_CYCLE, Hierarchy
from heatsim_kernels.solver.operator import Operator, SolverKernels

SINGULAR = "singular: no temperature is tied to anything, so any constant may be added to a solution"


@dataclass(frozen=True)
class Solution:
    """What a solve came to.

    x: (nz, ny, nx) float64, on the device of the solver: an array, or of CUDA a `Field`.
    converged: whether one of the two tolerances was met.
    residuals: |b - A x| / |b| (2-norms) at the start and after each iteration.
    corrections: the largest change that one cycle would make anywhere, K, before each iteration: close to the largest
        error of x, as a cycle removes most of it.
    sweeps: passes over the finest grid that apply A, the preconditioner's included.
    """

    x: Any
    converged: bool
    residuals: tuple[float, ...]
    corrections: tuple[float, ...]
    sweeps: int

    @property
    def iterations(self) -> int:
        """Iterations of the conjugate gradient."""
        return len(self.residuals) - 1


class Solver:
    """Solves A x = b for an operator and many right-hand sides; `kernels` is the module of a device.

    Fields that are given may be arrays or be on that device already.
    """

    def __init__(self, operator: Operator, kernels: SolverKernels = operations, twice: bool = False) -> None:
        """twice: whether a cycle visits large coarse levels twice, see `hierarchy`: for porous media. Raises
        `ValueError` for a singular operator: one whose temperatures are tied to nothing outside."""
        self._kernels = kernels
        self.approach(operator)
        self._hierarchy = Hierarchy(self.operator, kernels, twice)
        self._p, self._q, self._r = (kernels.field(operator.shape, np.float64) for _ in range(3))

    def preconditioned_operator(self) -> Operator:
        """The operator that solves are preconditioned for, rounded to float32, on the host. A new solver of it, brought
        to this one's operator by `approach`, solves to the same bits."""
        finest, get = self._hierarchy.levels[0], self._kernels.get
        faces: Any = finest.g
        gx, gy, gz = (np.asarray(get(each)) for each in faces)
        return replace(self.operator, gx=gx, gy=gy, gz=gz, s=np.asarray(get(finest.s)))

    def approach(self, operator: Operator) -> None:
        """Solve for another operator, preconditioned for the one before: for those that differ little, as those of
        Newton's iterations do. Costs next to nothing."""
        held = {name: self._kernels.put(getattr(operator, name)) for name in ("gx", "gy", "gz", "s")}
        self.operator = self._grounded(replace(operator, **held))
        self._faces = self.operator.gx, self.operator.gy, self.operator.gz

    def set_outside(self, s: Any) -> None:
        """Take another `s` (another time step, other boundary face coefficients); far cheaper than another solver.

        Of CUDA it is kept, not copied, where it is on the device already.
        """
        self.operator = self._grounded(replace(self.operator, s=self._kernels.put(s)))
        self._hierarchy.set_outside(self.operator)

    def solve(
        self,
        b: Any,
        guess: Any = None,
        *,
        tolerance: float = 1e-8,
        accuracy: float = 0.0,
        max_iterations: int = 200,
    ) -> Solution:
        """Solve A x = b from a guess (0 by default); arrays (nz, ny, nx), W and K.

        Ends when |b - A x| <= tolerance |b|, or when another cycle would change x by at most `accuracy` K, or after
        `max_iterations`; it ends early, not converged, where numbers are no longer finite.
        """
        kernels, p, q, r = self._kernels, self._p, self._q, self._r
        x = kernels.field(self.operator.shape, np.float64)
        if guess is not None:
            kernels.assign(x, guess)
        kernels.assign(r, b)
        size = sqrt(kernels.dot(r, r)) or 1.0
        kernels.assign(p, 0.0)
        self._apply(x, q)
        alpha, zr_before, unit = 1.0, 1.0, size  # r = b - 1 q, and x += 1 p with p = 0
        norm = sqrt(kernels.step(alpha, 1.0 / unit, p, q, x, r, self._hierarchy.b))
        residuals, corrections = [norm / size], []
        while isfinite(norm) and residuals[-1] > tolerance and len(residuals) <= max_iterations:
            z = self._hierarchy.cycle()
            zr, zq, largest = (unit * value for value in kernels.dots(z, r, q))
            corrections.append(largest)
            if largest <= accuracy or not zr > 0:
                break
            beta = -alpha * zq / zr_before if len(residuals) > 1 else 0.0
            kernels.direction(z, beta, unit, p)
            self._apply(p, q)
            curvature = kernels.dot(p, q)
            if not curvature > 0:
                break
            alpha, zr_before, unit = zr / curvature, zr, norm
            norm = sqrt(kernels.step(alpha, 1.0 / unit, p, q, x, r, self._hierarchy.b))
            residuals.append(norm / size)
        converged = residuals[-1] <= tolerance or (bool(corrections) and corrections[-1] <= accuracy)
        sweeps = len(residuals) + SWEEPS_A_CYCLE * len(corrections)
        return Solution(x, converged, tuple(residuals), tuple(corrections), sweeps)

    def _apply(self, x: object, out: object) -> None:
        """out = A x, in float64."""
        self._kernels.sweep(self._faces, self.operator.s, x, None, None, out)

    def _grounded(self, operator: Operator) -> Operator:
        if not self._kernels.largest(operator.s) > 0:
            raise ValueError(SINGULAR)
        return operator
