"""Fields to watch, and what is to be seen of them by plain NumPy."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from heatsim_kernels.field.time_statistics import StatisticsRequest

SHAPE = (2, 3, 7)
ELAPSED = (0.5, 0.25, 1.0, 2.0, 0.125)
WANTED = {
    "all": StatisticsRequest(True, 0.25, -0.5),
    "peak": StatisticsRequest(peak=True),
    "time above": StatisticsRequest(above=0.25),
    "cooling rate": StatisticsRequest(crossing=-0.5),
    "above zero": StatisticsRequest(False, 0.0, 0.0),
}
CASES = [*((name, np.float32) for name in WANTED), ("all", np.float64)]


def samples(dtype: type, shape: tuple[int, int, int] = SHAPE) -> Iterator[tuple[np.ndarray, float]]:
    """Fields and the time since the one before, 0 at the first; some values are the thresholds themselves."""
    random = np.random.default_rng(3)
    for elapsed in (0.0, *ELAPSED):
        values = random.uniform(-1, 1, shape)
        values[random.random(shape) < 0.1] = 0.25
        values[random.random(shape) < 0.1] = -0.5
        yield values.astype(dtype), elapsed


def expected(seen: list[tuple[np.ndarray, float]], wanted: StatisticsRequest) -> dict[str, np.ndarray]:
    """The fields of a watch, in float64."""
    fields = {}
    whole = np.array([field for field, _ in seen], np.float64)
    if wanted.peak:
        fields["peak_temperature"] = whole.max(axis=0)
    if wanted.above is not None:
        fields["time_above"] = np.zeros(whole.shape[1:])
        for before, after, (_, elapsed) in zip(whole[:-1], whole[1:], seen[1:], strict=True):
            low, high = np.minimum(before, after), np.maximum(before, after)
            with np.errstate(divide="ignore", invalid="ignore"):
                share = np.clip((high - wanted.above) / (high - low), 0, 1)
            fields["time_above"] += elapsed * np.where(high == low, high > wanted.above, share)
    if wanted.crossing is not None:
        rate = np.full(whole.shape[1:], np.nan)
        for before, after, (_, elapsed) in zip(whole[:-1], whole[1:], seen[1:], strict=True):
            fell = (before > wanted.crossing) & (after <= wanted.crossing)
            rate[fell] = ((before - after) / elapsed)[fell]
        fields["cooling_rate"] = rate
    return fields
