"""Power traces: straight lines between the times of a file, no power before the first and after the last."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from heatsim.problem.terms.sources.csv_columns import read_columns, require_increasing, select_columns
from heatsim.scenario import Scenario
from heatsim.scenario.language.toml.positions import Key

_UNITS = {"time": "s", "power": "W"}  # of the columns, in their order in a file that does not name them


@dataclass(frozen=True, eq=False)
class PowerTrace:
    """times: (n,) s, increasing; powers: (n,) W."""

    times: np.ndarray
    powers: np.ndarray

    @property
    def discontinuities(self) -> list[float]:
        """The first and the last time, s, where the power is not 0 there."""
        return [float(self.times[end]) for end in (0, -1) if self.powers[end] != 0]

    def means(self, starts: np.ndarray, dt: float) -> np.ndarray:
        """Mean power from each start over `dt` s, W; the power at that time where dt = 0.

        A mean is the difference of the energy up to both ends, so that the energies of steps that follow each other sum
        to that of the trace, however long they are.
        """
        if dt == 0.0:
            return np.asarray(np.interp(starts, self.times, self.powers, left=0.0, right=0.0))
        return np.asarray((self._energy(starts + dt) - self._energy(starts)) / dt)

    def _energy(self, times: np.ndarray) -> np.ndarray:
        """Energy up to each time, J."""
        before, rise = self._legs
        times = np.clip(times, self.times[0], self.times[-1])
        leg = np.clip(np.searchsorted(self.times, times, side="right") - 1, 0, len(rise) - 1)
        since = times - self.times[leg]
        return np.asarray(before[leg] + since * (self.powers[leg] + 0.5 * rise[leg] * since))

    @cached_property
    def _legs(self) -> tuple[np.ndarray, np.ndarray]:
        """Energy up to each time of the file, J, and the rise of power on each line between, W/s."""
        durations = np.diff(self.times)
        energies = durations * 0.5 * (self.powers[1:] + self.powers[:-1])
        return np.concatenate(([0.0], np.cumsum(energies))), np.diff(self.powers) / durations


def read_trace(scenario: Scenario, key: Key, path: Path) -> PowerTrace:
    """Read the columns time [s], power [W].

    Raises `ScenarioError` as `read_columns` and `select_columns` do, and for fewer than two rows, times that do not
    increase, or a trace that begins after the end of the run.
    """
    columns = read_columns(scenario, key, path)
    named = select_columns(columns, _UNITS, needed=2, layouts=[tuple(_UNITS)])
    if len(columns.values) < 2:
        raise columns.refuse(0, "expected at least two rows, found one", "a constant power is power = ... (W)")
    times, powers = named["time"], named["power"]
    end = scenario.time.end
    require_increasing(columns, times, "a step is a short ramp: 1 and 1.001, for example")
    if times[0] >= end:
        raise columns.refuse(0, f"expected a trace that begins before time.end = {end:g} (s), found {times[0]:g}")
    return PowerTrace(times, powers)
