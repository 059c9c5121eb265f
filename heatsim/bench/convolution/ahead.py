"""The kernels that the verification and the timing need, compiled ahead: more than a hundred variants, some for each
mask. One process compiles those of one kernel.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from heatsim.bench.ahead import by_all_cores
from heatsim.bench.convolution import ours
from heatsim.bench.convolution.options import Options
from heatsim.bench.convolution.problems import Problem, cases, data, timed
from heatsim.bench.measure import Tell

SIDE = 64  # cells a side of fields that stand for those timed: a kernel compiles alike for every size


def compile_ahead(options: Options, tell: Tell) -> None:
    """Compile what the request will need of a GPU's kernels."""
    jobs = [
        partial(ready, kernel, family, options.precisions, options.masks)
        for family in options.families
        for kernel in ours.kernels(options.device, family)
        if kernel in options.kernels
    ]
    tell(f"compiling {len(jobs)} kernels in all their variants, where they are not on the disk")
    by_all_cores(jobs)


def ready(kernel: str, family: str, precisions: tuple[str, ...], masks: tuple[tuple[int, int], ...]) -> int:
    """Ready one kernel for one field of each variant; returns how many."""
    from heatsim.bench.convolution import ours_on_cuda

    count = 0
    for precision in precisions:
        verified = _one_a_variant(cases(family, precision))
        for problem in (each for each in verified if ours.takes(kernel, "cuda", each)):
            ours.result(kernel, "cuda", problem, *data(problem))
            count += 1
        sizes = timed((family,), (SIDE, SIDE), precision, masks, "cuda")
        for problem in (each for each in sizes if ours.takes(kernel, "cuda", each)):
            field, weights = data(problem)
            ours_on_cuda.ready(kernel, problem, ours_on_cuda.on_gpu(problem, field), weights)
            count += 1
    return count


def _one_a_variant(problems: Iterable[Problem]) -> list[Problem]:
    """Fewer problems, but one for every variant of a kernel: by mask, edge, filters, and down or along the rows."""
    variants = {(p.mask, p.edge, p.axis % len(p.shape) == len(p.shape) - 1, p.filters, p.stride): p for p in problems}
    return list(variants.values())
