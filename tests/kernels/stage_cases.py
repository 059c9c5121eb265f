"""Stages of several for the kernel tests, and what a sweep makes of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from heatsim_kernels.explicit import ExplicitStepper
from heatsim_kernels.explicit.rk_stages import RkStage, TrapezoidalDefect
from helpers.kernel_cases import STEP, Case
from plain_reference import explicit_step

COUNT = 5


def stages(form: str, dtype: type, seed: int = 0, count: int = COUNT) -> list[RkStage]:
    """Coefficients at random, of methods that read two fields or four; those that follow the first."""
    rng, real = np.random.default_rng(seed), np.dtype(dtype).type
    found = []
    for j in range(count):
        nu, gamma, mu = (float(real(rng.uniform(*ends))) for ends in ((-0.5, -0.1), (-0.5, 0.0), (1.0, 1.3)))
        rate, weight = float(real(rng.uniform(0.2, 0.5))), float(rng.uniform(-0.3, 0.6))
        if j == 0:
            nu, gamma, mu = 0.0, 0.0, 1.0
        elif form == "two":
            gamma, mu = 0.0, 1.0 - nu
        found.append(RkStage(mu, nu, gamma, rate, weight))
    return found


class Staged(NamedTuple):
    field: np.ndarray
    heat_entered: np.ndarray
    defect: np.ndarray


def staged(sweep: ExplicitStepper, case: Case, form: str) -> Staged:
    """A step of several stages in two calls, after one that is rejected, and an explicit step behind it."""
    chosen = stages(form, sweep.dtype.type)
    sweep.field.put(case.start)
    sweep.take_stages(2 * STEP, chosen[:1], 0, case.forcing)
    sweep.take_stages(STEP, chosen[:2], 0, case.forcing)
    later = [case.forcing.of_steps(k, 1) for k in range(2, COUNT)]
    for k, forcing in enumerate(later, start=2):
        sweep.take_stages(STEP, chosen[k : k + 1], k, forcing)
    defect = sweep.defect(STEP, chosen[0].rate, case.forcing.of_steps(COUNT, 1))
    assert not sweep.heat_entered().any()
    sweep.accept()
    sweep.advance(STEP, 1, case.forcing)
    return Staged(np.array(sweep.field.host()), sweep.heat_entered(), np.array(defect))


def staged_at_once(sweep: ExplicitStepper, case: Case, count: int, begun: int) -> Staged:
    """A step of so many stages, all of two fields but the last, after one that is rejected; in two calls, of `begun`
    stages and of all others."""
    chosen = stages("two", sweep.dtype.type, count=count)
    chosen[-1] = chosen[-1]._replace(mu=float(sweep.dtype.type(1.25)))
    sweep.field.put(case.start)
    sweep.take_stages(2 * STEP, chosen[:1], 0, case.forcing)
    sweep.take_stages(STEP, chosen[:begun], 0, case.forcing.of_steps(0, begun))
    sweep.take_stages(STEP, chosen[begun:], begun, case.forcing.of_steps(begun, count))
    defect = sweep.defect(STEP, chosen[0].rate, case.forcing.of_steps(count, 1))
    sweep.accept()
    return Staged(np.array(sweep.field.host()), sweep.heat_entered(), np.array(defect))


def plain(case: Case, form: str) -> Staged:
    """The same in float64 NumPy, from the text of `stages`."""
    chosen = stages(form, np.float64)
    fields, entered = [case.start], np.zeros(case.coefficients.ledger_size)
    for k, stage in enumerate(chosen):
        stepped, heat = explicit_step(fields[-1], case.coefficients, STEP, case.forcing.of_steps(k, 1))
        start, before, one = fields[0], fields[max(0, len(fields) - 2)], fields[min(1, len(fields) - 1)]
        new = start + stage.mu * (fields[-1] - start) + stage.nu * (before - start) + stage.gamma * (one - start)
        fields.append(new + stage.rate * (stepped - fields[-1]))
        entered += stage.weight * heat
    start, one, end = fields[0], fields[1], fields[-1]
    after, _ = explicit_step(end, case.coefficients, STEP, case.forcing.of_steps(COUNT, 1))
    slopes = (one - start) / chosen[0].rate + (after - end)
    defect = TrapezoidalDefect(float(np.abs(end - start - 0.5 * slopes).max()), float(end.min()), float(end.max()))
    last, heat = explicit_step(end, case.coefficients, STEP, case.forcing.of_steps(0, 1))
    return Staged(last, entered + heat, np.array(defect))
