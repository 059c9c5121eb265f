"""Smoothing passes over initial temperatures, sources and slices.

What is kept: with the edges "reflect" and "wrap" every cell counts for as much as the mask has weight, so the mean of
the field stays. For sources, a density on equal cells, this is the total power. For the initial field it is the mean
temperature, not the energy: where materials of unlike heat capacity meet, smoothing moves temperature without regard to
what it takes to warm either side. The run starts from the smoothed field, and its ledger counts from there.
"zero" counts what lies outside as zero of the field: 0 K or 0 degC, as the scenario has it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

import numpy as np
from heatsim_kernels.convolution import convolve_planes, separable

from heatsim.errors import NoGpuError, ScenarioError
from heatsim.problem.filters import FILTERS
from heatsim.scenario import Scenario
from heatsim.scenario.smoothing import Smoothing


def is_smoothed(scenario: Scenario, target: str) -> bool:
    """Whether any pass has this target, "initial", "sources" or "slices"."""
    return any(smooth.target == target for smooth in scenario.smoothing)


def smoothed(scenario: Scenario, target: str, field: np.ndarray, spacing: Sequence[float]) -> np.ndarray:
    """A field after all passes that have this target, in their order; the field itself where there are none.

    field: (nz, ny, nx), or a slice of two of these axes, float32 or float64; spacing: of its axes, m. Axes of a single
    cell are not smoothed. Raises `NoGpuError` for a kernel named that needs a GPU, where there is none, and
    `ScenarioError` for a mask that the kernel named cannot take.
    """
    for number, smooth in enumerate(scenario.smoothing):
        if smooth.target == target:
            try:
                field = _pass(smooth, np.ascontiguousarray(field), spacing)
            except ValueError as error:
                flaw = scenario.problem_at(
                    ("smoothing", number, "kernel"), str(error), 'kernel = "auto" takes any mask'
                )
                raise ScenarioError([flaw]) from None
    return field


def _pass(smooth: Smoothing, field: np.ndarray, spacing: Sequence[float]) -> np.ndarray:
    """One pass. "auto" is the CPU, where fields come from, and the bits are those of any other kernel."""
    if smooth.kernel in ("auto", "cpu"):
        return _convolved(smooth, field, spacing, "cpu")
    try:
        return _convolved(smooth, field, spacing, "cuda")
    except (ImportError, RuntimeError):
        message = f'the smoothing kernel "{smooth.kernel}" needs a CUDA GPU, and there is none that works'
        raise NoGpuError(f'{message}; kernel = "auto" runs anywhere, to the same bits') from None


def _convolved(smooth: Smoothing, field: np.ndarray, spacing: Sequence[float], device: str) -> np.ndarray:
    if smooth.mask is not None:
        mask = np.array(smooth.mask)
        plain = field.squeeze()
        planes = plain.reshape(1, -1) if plain.ndim < 2 else plain
        done = convolve_planes(planes, mask / mask.sum(), smooth.edges, smooth.kernel, device)
        return np.asarray(done).reshape(field.shape)
    assert smooth.filter is not None
    assert smooth.sigma is not None
    chains = [
        FILTERS[smooth.filter](smooth.sigma / size) if cells > 1 else []
        for cells, size in zip(field.shape, spacing, strict=True)
    ]
    for masks in zip_longest(*chains):
        field = np.asarray(separable(field, masks, smooth.edges, smooth.kernel, device))
    return field
