"""GPU kernels compiled ahead, by all cores: `python -m heatsim.bench.convolution.ahead REQUEST` readies one kernel.

The verification and the timing take more than a hundred variants of kernels, some for each mask. Each child compiles
those of one kernel, and they are found on the disk by whoever needs them next.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from heatsim.bench.children import ChildError, ask
from heatsim.bench.convolution import ours
from heatsim.bench.convolution.options import Options
from heatsim.bench.convolution.problems import Problem, cases, data, timed
from heatsim.bench.measure import Tell

SIDE = 64  # cells a side of fields that stand for those timed: a kernel compiles alike for every size


def compile_ahead(options: Options, tell: Tell) -> None:
    """Compile what the request will need of a GPU's kernels; what a child fails at, the verification will tell."""
    requests = [
        {"family": family, "kernel": kernel, "precisions": options.precisions, "masks": options.masks}
        for family in options.families
        for kernel in ours.kernels(options.device, family)
        if kernel in options.kernels
    ]
    tell(f"compiling {len(requests)} kernels in all their variants, where they are not on the disk")
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        list(pool.map(_ask, requests))


def _ask(request: dict[str, Any]) -> None:
    try:
        ask(__name__, request, {"NUMBA_NUM_THREADS": "1"})
    except ChildError:
        return


def main(request: dict[str, Any]) -> dict[str, int]:
    """Ready one kernel for one field of each variant; returns how many."""
    from heatsim.bench.convolution import ours_on_cuda

    kernel, family, count = request["kernel"], request["family"], 0
    masks = tuple((rows, columns) for rows, columns in request["masks"])
    for precision in request["precisions"]:
        verified = _one_a_variant(cases(family, precision))
        for problem in (each for each in verified if ours.takes(kernel, "cuda", each)):
            ours.result(kernel, "cuda", problem, *data(problem))
            count += 1
        sizes = timed((family,), (SIDE, SIDE), precision, masks, "cuda")
        for problem in (each for each in sizes if ours.takes(kernel, "cuda", each)):
            field, weights = data(problem)
            ours_on_cuda.ready(kernel, problem, ours_on_cuda.on_gpu(problem, field), weights)
            count += 1
    return {"variants": count}


def _one_a_variant(problems: Iterable[Problem]) -> list[Problem]:
    """Fewer problems, but one for every variant of a kernel: by mask, edge, filters, and down or along the rows."""
    variants = {(p.mask, p.edge, p.axis % len(p.shape) == len(p.shape) - 1, p.filters, p.stride): p for p in problems}
    return list(variants.values())


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))
