from __future__ import annotations

from itertools import pairwise
from math import inf
from pathlib import Path

import pytest
from helpers.scenario_texts import MINIMAL
from hypothesis import example, given
from hypothesis import strategies as st

from heatsim.scenario import loads
from heatsim.scenario.output import Probe
from heatsim.scenario.schedules import LogarithmicTimes, Schedule


def test_an_interval_gives_its_multiples_without_drift_and_the_end() -> None:
    assert Schedule(every=0.1).times(100.0)[777] == 77.7
    assert Schedule(every=4.0).times(10.0) == (0.0, 4.0, 8.0, 10.0)
    assert Schedule(every=20.0).times(10.0) == (0.0, 10.0)
    assert Schedule(every=1e20).times(1.0) == (0.0, 1.0)


def test_schedules_meet_where_they_should() -> None:
    assert set(Schedule(every=0.3).times(3.0)) <= set(Schedule(every=0.1).times(3.0))


def test_given_times_are_sorted_unique_and_end_with_the_run() -> None:
    assert Schedule(at=(5.0, 1.0, 5.0, 20.0)).times(10.0) == (1.0, 5.0)


def test_a_steady_state_is_recorded_once_whatever_the_times() -> None:
    for schedule in (Schedule(at=(20.0, 200.0)), Schedule(every=1e-12), Schedule(count=7)):
        assert schedule.times(inf) == (inf,)


def test_a_count_of_intervals_records_both_ends() -> None:
    assert Schedule(count=4).times(1.0) == (0.0, 0.25, 0.5, 0.75, 1.0)


def test_a_probe_carries_its_schedule_in_its_own_table() -> None:
    assert Probe(name="a", at=(0, 0, 0), count=2).times(3.0) == (0.0, 1.5, 3.0)


def test_logarithmic_times_have_equal_ratios_and_both_ends() -> None:
    decade = LogarithmicTimes.model_validate({"from": 1e-3, "to": 1.0, "per_decade": 2}).times()
    assert decade == pytest.approx([1e-3 * 10 ** (i / 2) for i in range(7)])
    assert (decade[0], decade[2], decade[-1]) == (1e-3, 1e-2, 1.0)
    uneven = LogarithmicTimes.model_validate({"from": 1.0, "to": 15.0, "per_decade": 1}).times()
    assert uneven == (1.0, 10.0, 15.0)


def test_nothing_is_recorded_before_after_but_the_end_is() -> None:
    assert Schedule(every=1.0, after=2.5).times(4.5) == (3.0, 4.0, 4.5)


def test_times_come_from_a_file_and_are_kept_in_the_resolved_scenario(tmp_path: Path) -> None:
    (tmp_path / "when.csv").write_text("step,time\n0,0.5\n1,2.5\n2,99\n")
    probe = 'output.probes = [{ name = "a", at = [0, 0, 0], times = { file = "when.csv", column = "time" } }]\n'
    scenario = loads(probe + MINIMAL, tmp_path / "case.toml")
    assert scenario.output.probes[0].times(10.0) == (0.5, 2.5)
    assert loads(scenario.to_toml()).output.probes == scenario.output.probes


@given(st.integers(1, 5000), st.floats(1e-6, 1e6))
@example(3, 0.1)  # 3 * 0.1 > 0.3
@example(10, 0.1)  # the sum of ten tenths is under 1
def test_a_whole_number_of_intervals_ends_exactly_at_the_end(count: int, every: float) -> None:
    for end in (count * every, float(f"{count * every:.15g}")):
        times = Schedule(every=every).times(end)
        assert len(times) == count + 1
        assert times[0] == 0.0
        assert times[-1] == end
        assert all(a < b for a, b in pairwise(times))


@given(st.integers(1, 2000), st.floats(1e-9, 1e9))
def test_counted_times_rise_strictly_to_the_end(count: int, end: float) -> None:
    times = Schedule(count=count).times(end)
    assert (len(times), times[0], times[-1]) == (count + 1, 0.0, end)
    assert all(a < b for a, b in pairwise(times))
