"""heatsim's CUDA kernels on fields that are on the GPU: launches without copies, and what a kernel takes of the GPU."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from math import prod
from typing import Any, NamedTuple

import numpy as np
from heatsim_kernels.device.cuda.arrays import Array, empty, on_device
from heatsim_kernels.device.cuda.launch import kernel as launcher
from heatsim_kernels.device.cuda.vector_access import CELLS
from heatsim_kernels.field.convolution import EDGES
from heatsim_kernels.field.convolution.cuda import mask_pass
from heatsim_kernels.field.filter_bank.cuda import bank
from heatsim_kernels.field.filter_bank.cuda.block import BankConfiguration
from heatsim_kernels.field.filter_bank.geometry import geometry, pool_pair

from heatsim.studies.bench import machine
from heatsim.studies.bench.convolution.problems import BANKS, LINES, PLANES, POOL, RELU, ConvolutionProblem


class CudaLaunches(NamedTuple):
    """Launches that solve a problem once, the first kernel among them with its block, and where the result will be."""

    launches: list[Callable[[], None]]
    kernel: Any
    block: tuple[int, int, int]
    target: Array

    def work(self, repetitions: int) -> None:
        """Launch that many times; returns at once."""
        for _ in range(repetitions):
            for launch in self.launches:
                launch()

    def resources(self) -> dict[str, float]:
        """What the kernel takes of a multiprocessor."""
        return machine.multiprocessor_use(lambda: self.kernel.resources(self.block))


def prepare_launches(kernel: str, problem: ConvolutionProblem, field: Array, weights: np.ndarray) -> CudaLaunches:
    """A kernel compiled, its result allocated and its launches prepared."""
    if problem.family == BANKS:
        return _bank(kernel, problem, field, weights)
    if problem.family in (RELU, POOL):
        return _pointwise(problem, field)
    return _passes(kernel, problem, field, weights)


def put_on_gpu(problem: ConvolutionProblem, field: np.ndarray) -> Array:
    """The input on the GPU, its rows as far apart as kernels want them."""
    if problem.family in (BANKS, RELU, POOL):
        return on_device(field.reshape(-1))
    layout = _layout(problem)
    padded = np.zeros((*field.shape[:-1], layout.pitch), field.dtype)
    padded[..., : field.shape[-1]] = field
    return on_device(padded.reshape(-1))


def _layout(problem: ConvolutionProblem) -> mask_pass.FieldLayout:
    rows, columns = problem.shape
    return mask_pass.FieldLayout.of((1, rows, columns))


def _passes(kernel: str, problem: ConvolutionProblem, field: Array, weights: np.ndarray) -> CudaLaunches:
    layout, edge, mask = _layout(problem), EDGES.index(problem.edge), np.ascontiguousarray(np.flip(weights))
    if problem.family == PLANES:
        passes = [mask_pass.plane_pass(layout, mask, edge, kernel)]
    else:
        axes = (problem.axis + 1,) if problem.family == LINES else (1, 2)  # the layout has an axis more
        passes = [mask_pass.line_pass(layout, mask, axis, edge, kernel) for axis in axes]
    arrays = [field, *(empty(layout.items, field.dtype) for _ in passes)]
    made = [_launch(each, *pair) for each, pair in zip(passes, pairwise(arrays), strict=True)]
    return CudaLaunches([launch for launch, _, _ in made], made[0][1], made[0][2], arrays[-1])


def _launch(
    each: mask_pass.MaskPass, source: Array, target: Array
) -> tuple[Callable[[], None], Any, tuple[int, int, int]]:
    """As `MaskPass.run`, with everything looked up once."""
    args = (source, target, each.geometry, *each.weights)
    across, down = each.movement.block(each.variant)
    shape = int(each.geometry.nz), int(each.geometry.ny), int(each.geometry.nx)
    grid = each.movement.grid(shape, each.variant)
    made = launcher(each.movement.build, each.variant, args, (across * down, 1))
    return partial(made, grid, (across, down, 1), args), made, (across, down, 1)


def _bank(kernel: str, problem: ConvolutionProblem, field: Array, weights: np.ndarray) -> CudaLaunches:
    shape = geometry(problem.shape, weights.shape, problem.stride, problem.padding, None)
    made = bank.CudaFilterBank(weights, np.zeros(len(weights), weights.dtype), shape, False, kernel)
    out = empty(prod(problem.output), weights.dtype)
    block = bank.movement(kernel).block(BankConfiguration.of(shape, weights.dtype.name, False))

    def launch() -> None:
        made.respond(field, out)

    return CudaLaunches([launch], made.kernel, block.threads, out)


def _pointwise(problem: ConvolutionProblem, field: Array) -> CudaLaunches:
    count, block = prod(problem.output), (bank.THREADS, 1, 1)
    args: tuple[Any, ...] = (field, empty(count, field.dtype))
    threads = -(-count // CELLS)
    build: Any = bank.build_relu
    variant: Any = field.dtype.name
    if problem.family == POOL:
        sizes: Any = (*map(np.uint32, (*problem.shape[-2:], *problem.output[-2:])), np.uint64(count))
        args = (*args, bank.Extents(*sizes))
        build, variant = bank.build_max_pool, pool_pair((problem.mask[0], problem.mask[1]), None)
        threads = count
    made = launcher(build, variant, args)
    return CudaLaunches([partial(made, (-(-threads // block[0]), 1, 1), block, args)], made, block, args[1])
