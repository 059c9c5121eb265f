"""Smoothing passes over initial temperatures, sources and slices.

Variances of masks add, so a filter of any standard deviation is a chain of masks, passed one after another along an
axis, whose variances sum to that of the filter:

gaussian    discrete Gaussians, as many as keep each within the widest mask; what is cut off is below 1 % of sigma
binomial    (a, 1 - 2a, a) n times, with n = ceil(2 sigma^2) and a = sigma^2 / 2n; where 2 sigma^2 is whole this is
            row 2n of Pascal's triangle. Each of the n is a step of explicit heat conduction.
box         equal weights, but for the outermost, which are smaller by as much as the width asked for takes

Sources: Lindeberg, Scale-space for discrete signals, IEEE Trans. PAMI 12 (1990), section VI, for the first two;
Gwosdek, Grewenig, Bruhn and Weickert, Theoretical foundations of Gaussian convolution by extended box filtering, Scale
Space and Variational Methods 2011, for the third.

**What is conserved.** With the edges "reflect" and "wrap" every cell counts for as much as the mask has weight, so the
mean of the field stays. For sources, a density on equal cells, this is the total power. For the initial field it is the
mean temperature, not the energy: where materials of different heat capacity meet, smoothing moves temperature without
regard to what it takes to warm either side. The run starts from the smoothed field, and its ledger counts from there.
"zero" counts what lies outside as zero of the field: 0 K or 0 degC, as the scenario has it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import zip_longest
from math import ceil, floor, sqrt

import numpy as np
from heatsim_kernels.field.convolution import convolve_planes, masks, separable

from heatsim.errors import NoGpuError, ScenarioError
from heatsim.scenario import Scenario
from heatsim.scenario.smoothing import Smoothing


def is_smoothed(scenario: Scenario, target: str) -> bool:
    """Whether any pass has this target, "initial", "sources" or "slices"."""
    return any(smooth.target == target for smooth in scenario.smoothing)


def smooth_field(scenario: Scenario, target: str, field: np.ndarray, spacing: Sequence[float]) -> np.ndarray:
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
                flaw = scenario.issue_at(("smoothing", number, "kernel"), str(error), 'kernel = "auto" takes any mask')
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
    for axis_masks in zip_longest(*chains):
        field = np.asarray(separable(field, axis_masks, smooth.edges, smooth.kernel, device))
    return field


_WIDEST_GAUSSIAN = 3.8  # cells: the standard deviation whose mask is as wide as may be
_STEPS_A_MASK = masks.MAX_MASK_WIDTH // 2


def gaussian(sigma: float) -> list[np.ndarray]:
    """Masks that together are a Gaussian of standard deviation `sigma` cells."""
    count = ceil((sigma / _WIDEST_GAUSSIAN) ** 2)
    return [masks.gaussian(sigma / sqrt(count))] * count


def binomial(sigma: float) -> list[np.ndarray]:
    """Masks that together are a binomial of standard deviation `sigma` cells."""
    count = ceil(2.0 * sigma**2 * (1 - 1e-12))  # 1/2 from a rounded sigma is one step, not two
    share = sigma**2 / (2.0 * count)
    step = np.array([share, 1.0 - 2.0 * share, share])
    chain = []
    for first in range(0, count, _STEPS_A_MASK):
        mask = np.ones(1)
        for _ in range(min(_STEPS_A_MASK, count - first)):
            mask = np.convolve(mask, step)
        chain.append(mask)
    return chain


def box(sigma: float) -> list[np.ndarray]:
    """One mask of equal weights with standard deviation `sigma` cells, its outermost weights between 0 and the others.

    With r whole weights a side and one of w beyond them, 3 sigma^2 (2r + 1 + 2w) = r (r + 1) (2r + 1) + 6 w (r + 1)^2.
    """
    whole = floor((sqrt(1.0 + 12.0 * sigma**2) - 1.0) / 2.0 + 1e-9)
    excess = (2 * whole + 1) * (3.0 * sigma**2 - whole * (whole + 1))
    end = max(0.0, excess / (6.0 * ((whole + 1) ** 2 - sigma**2)))
    ends = [end] if end > 1e-9 else []
    weights = np.array([*ends, *[1.0] * (2 * whole + 1), *ends])
    return [weights / weights.sum()]


FILTERS: dict[str, Callable[[float], list[np.ndarray]]] = {"gaussian": gaussian, "box": box, "binomial": binomial}
