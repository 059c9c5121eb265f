"""Stages of super time stepping in float64 NumPy, from the text of `stencil/stages.py` and from no kernel of theirs.

dt L(Y) is what an explicit step of the CPU kernel adds to Y, so the two share no more than that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from heatsim_kernels.explicit.coefficients import Forcing, StencilCoefficients
from heatsim_kernels.explicit.cpu.stepper import CpuStepper
from heatsim_kernels.explicit.enthalpy.cpu.surface_tangents import CpuSurfaceTangents
from heatsim_kernels.explicit.rk_stages import RkStage, TrapezoidalDefect
from heatsim_kernels.field.cpu.field import CpuField

from heatsim.problem import Problem
from heatsim.solve.integrators import RunField


class PlainStages:
    """A `StageStepper` in NumPy on a `CpuField`; it takes stages only."""

    name = "plain"
    fused_steps = 1

    def __init__(self, coefficients: StencilCoefficients, dtype: np.dtype) -> None:
        self.coefficients, self.dtype, self.field = coefficients, dtype, CpuField(coefficients, dtype)
        self._euler = CpuStepper(coefficients, dtype, fused=1)
        self._entered = np.zeros(coefficients.ledger_size)
        self._heat = self._entered.copy()
        self._Y: list[np.ndarray] = []
        self._first_rate = 1.0

    def advance(self, dt: float, steps: int, forcing: Forcing) -> None:
        raise NotImplementedError

    def ledger_state(self) -> dict[str, np.ndarray]:
        return {}

    def restore_ledger(self, saved: Mapping[str, np.ndarray]) -> None:
        raise NotImplementedError

    def heat_entered(self) -> np.ndarray:
        return self._entered.copy()

    def take_stages(self, dt: float, stages: Sequence[RkStage], first: int, forcing: Forcing) -> None:
        if first == 0:
            self._Y, self._heat[:] = [self.field.state().copy()], 0.0
            self._first_rate = stages[0].rate
        for k, stage in enumerate(stages):
            Y = self._Y
            change, heat = self._change(Y[-1], dt, forcing, k)
            start, before, one = Y[0], Y[-2] if len(Y) > 1 else Y[0], Y[1] if len(Y) > 1 else Y[0]
            combined = start + stage.mu * (Y[-1] - start) + stage.nu * (before - start) + stage.gamma * (one - start)
            self._Y = [*Y, combined + stage.rate * change]
            self._heat += stage.weight * heat

    def defect(self, dt: float, rate: float, forcing: Forcing) -> TrapezoidalDefect:
        start, end = self._Y[0], self._Y[-1]
        at_start = (self._Y[1] - start) / self._first_rate
        at_end, _ = self._change(end, dt, forcing, 0)
        difference = np.abs(end - start - 0.5 * (at_start + at_end))
        return TrapezoidalDefect(float(difference.max()), float(end.min()), float(end.max()))

    def cells_at_end(self, indices: np.ndarray) -> np.ndarray:
        return np.asarray(self._Y[-1].reshape(-1)[indices])

    def accept(self) -> None:
        self.field.put(self._Y[-1])
        self._entered += self._heat

    def _change(self, Y: np.ndarray, dt: float, forcing: Forcing, row: int) -> tuple[np.ndarray, np.ndarray]:
        """dt L(Y) with a row of the drive, and the heat that enters in it, J."""
        self._euler.field.put(Y)
        before = self._euler.heat_entered()
        self._euler.advance(dt, 1, row_of(forcing, row))
        return self._euler.field.state() - Y, self._euler.heat_entered() - before


def row_of(forcing: Forcing, k: int) -> Forcing:
    """The drive of a single step."""

    def row(values: np.ndarray) -> np.ndarray:
        return values[[min(k, len(values) - 1)]]

    return replace(
        forcing,
        boundary_a=row(forcing.boundary_a),
        boundary_b=row(forcing.boundary_b),
        heat_table=None if forcing.heat_table is None else row(forcing.heat_table),
        heat_scale=row(forcing.heat_scale),
    )


def plain_field(problem: Problem) -> RunField:
    """Room for the field of a run by super steps whose stages are taken here: nothing more is compiled for them."""
    interior = problem.explicit_form
    stages = PlainStages(problem.coefficients if interior is None else interior.coefficients, problem.dtype)
    tangents = None if interior is None else CpuSurfaceTangents(interior.faces)
    return RunField(stages.field, stages, stages, tangents=tangents)
