"""The parts that benchmarks are made of: theory, timing, jobs in processes; sections of a page."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import numba
import numpy as np
import pytest

from heatsim.base.tables import write_section
from heatsim.studies.bench import harness
from heatsim.studies.bench.stencil import kernels, problems


def test_intensities_are_those_of_the_textbook() -> None:
    pytest.importorskip("numba_cuda", reason="numba-cuda is not installed")
    from heatsim_kernels.device.thread_blocks import ThreadBlock
    from heatsim_kernels.explicit.ladder import load_kernel

    assert problems.asked_intensity("basic", "float32", 1) == pytest.approx(13 / 28)
    assert problems.asked_intensity("basic", "float64", 1) == pytest.approx(13 / 56)
    assert problems.asked_intensity("register", "float32", 1) == pytest.approx(13 / 14)
    assert problems.asked_intensity("register", "float64", 1) == pytest.approx(13 / 32)
    for kernel in kernels.kernel_names("cuda"):
        intensity = problems.asked_intensity(kernel, "float32", 3)
        assert intensity is None if kernel == "temporal" else 0.2 < intensity < 3.0
    assert problems.asked_intensity("cpu", "float32", 1) is None
    for edge, expected in ((8, 1.37), (16, 2.18)):
        reads = load_kernel("shared").field_reads(ThreadBlock(edge, edge, edge), 4)
        assert 13 / (4 * reads) == pytest.approx(expected, abs=0.005)


def test_what_must_move_is_a_read_a_write_and_the_material() -> None:
    assert problems.bytes_per_cell("float32", 1) == 4 + 4
    assert problems.bytes_per_cell("float64", 1) == 8 + 8
    assert problems.bytes_per_cell("float32", 3) == 4 + 4 + 1


def test_layers_are_timed_in_the_place_of_cubes() -> None:
    stack = problems.timed_stencil((12, 5, 6), 3, layers=4).coefficients
    assert stack.paired
    assert stack.classes_of_planes is not None
    assert np.flatnonzero(np.diff(stack.capacity[stack.classes_of_planes])).tolist() == [2, 5, 8]
    assert (problems.operations_per_cell(3), problems.operations_per_cell(3, 4)) == (18, 15)


def test_jobs_of_a_gpu_are_answered_by_other_processes() -> None:
    here, there = (harness.answers(device, [os.getpid, os.getpid]) for device in ("cpu", "cuda"))
    assert set(here) == {os.getpid()}
    assert os.getpid() not in there


def test_contenders_take_turns_and_repeat_in_whole_batches() -> None:
    done: list[str] = []
    now = 0.0

    def contender(name: str, cost: float) -> harness.Contender:
        def work(repetitions: int) -> None:
            nonlocal now
            now += cost * repetitions

        def prepare() -> harness.Work:
            done.append(name)
            return work

        return harness.Contender(name, prepare)

    def clock(call: object) -> float:
        begun = now
        call()  # type: ignore[operator]
        return now - begun

    pace = harness.Pace(6.0, batch=4, rounds=3)
    slow, quick = harness.race([contender("slow", 1.0), contender("quick", 0.01)], "quick".__eq__, pace, clock)
    assert done == ["slow", "quick"] * 3
    assert (slow["repetitions"], quick["repetitions"]) == (8, 600)
    assert (quick["best"], slow["times"]) == (pytest.approx(0.01), pytest.approx(100.0))
    assert len(slow["seconds"]) == 3


def test_a_round_in_which_something_was_compiled_is_timed_again() -> None:
    function = numba.njit(lambda x: x + 1)
    taken: list[float] = []

    def work(repetitions: int) -> float:
        function(np.int64(1) if taken else 1.5)  # each compiles once
        taken.append(9.0 if len(taken) in (0, 1) else 2.0)
        return taken[-1]

    pace = harness.Pace(0.0, rounds=2, warm=False, repetitions=1)
    (row,) = harness.race([harness.Contender("compiled", harness.holding(work))], bool, pace)
    assert (row["seconds"], taken) == ([2.0, 2.0], [9.0, 9.0, 2.0, 2.0])


def test_what_is_slow_sits_out_rounds_and_a_work_that_times_itself_is_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]

    def take(seconds: float) -> None:
        now[0] += seconds

    def slow() -> harness.Work:
        take(0.3)
        return lambda repetitions: 2.0 * repetitions

    monkeypatch.setattr(harness, "time", SimpleNamespace(perf_counter=lambda: now[0]))
    quick = harness.holding(lambda repetitions: take(1e-4 * repetitions))
    contenders = [harness.Contender("slow", slow), harness.Contender("quick", quick)]
    first, second = harness.race(contenders, bool, harness.Pace(1e-5, rounds=3, patience=0.25))
    assert first["seconds"] == [2.0]
    assert second["seconds"] == pytest.approx([1e-4] * 3)


def test_a_section_takes_the_place_of_its_own_earlier_one_alone(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Title\n\nText.\n")
    write_section(page, "bench a", "one", "first")
    page.write_text(page.read_text() + "\n## Later\n")
    write_section(page, "bench b", "one", "other")
    write_section(page, "bench a", "two", "second")
    write_section(page, "bench a", "one", "third\n\n")
    assert page.read_text() == (
        "# Title\n\nText.\n\n"
        "<!-- bench a: one -->\nthird\n<!-- end of bench a: one -->\n\n"
        "<!-- bench a: two -->\nsecond\n<!-- end of bench a: two -->\n\n"
        "## Later\n\n"
        "<!-- bench b: one -->\nother\n<!-- end of bench b: one -->\n"
    )
