"""The parts that benchmarks are made of: theory, timing, counters, child processes, sections of a page."""

from __future__ import annotations

import os
import stat
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from heatsim.base.tables import write_section
from heatsim.studies.bench import children, timing
from heatsim.studies.bench.children import ChildError, run_on_all_cores
from heatsim.studies.bench.stencil import counters, kernels, problems, theory


def test_intensities_are_those_of_the_textbook() -> None:
    pytest.importorskip("numba_cuda", reason="numba-cuda is not installed")
    from heatsim_kernels.device.thread_blocks import ThreadBlock
    from heatsim_kernels.explicit.ladder import load_kernel

    assert theory.asked_intensity("basic", "float32", 1) == pytest.approx(13 / 28)
    assert theory.asked_intensity("basic", "float64", 1) == pytest.approx(13 / 56)
    assert theory.asked_intensity("register", "float32", 1) == pytest.approx(13 / 14)
    assert theory.asked_intensity("register", "float64", 1) == pytest.approx(13 / 32)
    for kernel in kernels.kernel_names("cuda"):
        intensity = theory.asked_intensity(kernel, "float32", 3)
        assert intensity is None if kernel == "temporal" else 0.2 < intensity < 3.0
    assert theory.asked_intensity("cpu", "float32", 1) is None
    for edge, expected in ((8, 1.37), (16, 2.18)):
        reads = load_kernel("shared").field_reads(ThreadBlock(edge, edge, edge), 4)
        assert 13 / (4 * reads) == pytest.approx(expected, abs=0.005)


def test_what_must_move_is_a_read_a_write_and_the_material() -> None:
    assert theory.bytes_per_cell("float32", 1) == 4 + 4
    assert theory.bytes_per_cell("float64", 1) == 8 + 8
    assert theory.bytes_per_cell("float32", 3) == 4 + 4 + 1


def test_layers_are_timed_in_the_place_of_cubes() -> None:
    stack = problems.timed_stencil((12, 5, 6), 3, layers=4).coefficients
    assert stack.paired
    assert stack.classes_of_planes is not None
    assert np.flatnonzero(np.diff(stack.capacity[stack.classes_of_planes])).tolist() == [2, 5, 8]
    assert (theory.operations_per_cell(3), theory.operations_per_cell(3, 4)) == (18, 15)


def test_kernels_are_made_ready_in_other_processes_and_one_that_fails_stops_no_other(tmp_path: Path) -> None:
    made = [tmp_path / name for name in ("one", "two")]
    run_on_all_cores([partial(os.mkdir, made[0]), partial(os.mkdir, tmp_path), partial(os.mkdir, made[1])])
    assert all(path.is_dir() for path in made)


def test_subjects_take_turns_and_repeat_in_whole_batches() -> None:
    done: list[str] = []
    now = 0.0

    def subject(name: str, cost: float) -> timing.Prepare:
        def work(repetitions: int) -> None:
            nonlocal now
            now += cost * repetitions

        def prepare() -> timing.Work:
            done.append(name)
            return work

        return prepare

    def clock(call: object) -> float:
        begun = now
        call()  # type: ignore[operator]
        return now - begun

    subjects = {"slow": subject("slow", 1.0), "quick": subject("quick", 0.01)}
    found = timing.time_interleaved(subjects, timing.Pace(6.0, batch=4, rounds=3), clock)
    assert done == ["slow", "quick"] * 3
    assert (found["slow"].repetitions, found["quick"].repetitions) == (8, 600)
    assert found["quick"].best == pytest.approx(0.01)
    assert len(found["slow"].seconds) == 3


def test_best_and_median_are_of_the_rounds() -> None:
    found = timing.Timing((3.0, 1.0, 2.5), 4)
    assert (found.best, found.median) == (1.0, 2.5)


# As `ncu --csv --print-units base --log-file` writes it, columns left out.
NCU = """\
==PROF== Connected to process 4711 (/usr/bin/python3.11)
==PROF== Profiling "basic" - 0: 0%....50%....100% - 2 passes
"ID","Process ID","Kernel Name","Section Name","Metric Name","Metric Unit","Metric Value"
"0","4711","basic","Command line profiler metrics","dram__bytes_read.sum","byte","4,096"
"0","4711","basic","Command line profiler metrics","dram__bytes_write.sum","byte","4000"
"0","4711","basic","Command line profiler metrics","smsp__sass_thread_inst_executed_op_fadd_pred_on.sum","inst","700"
"0","4711","basic","Command line profiler metrics","smsp__sass_thread_inst_executed_op_ffma_pred_on.sum","inst","300"
"1","4711","basic","Command line profiler metrics","dram__bytes_read.sum","byte","4096"
"1","4711","basic","Command line profiler metrics","dram__bytes_write.sum","byte","4000"
"1","4711","basic","Command line profiler metrics","smsp__sass_thread_inst_executed_op_fadd_pred_on.sum","inst","700"
"1","4711","basic","Command line profiler metrics","smsp__sass_thread_inst_executed_op_ffma_pred_on.sum","inst","300"
==PROF== Disconnected from process 4711
"""


def fake_ncu(folder: Path, monkeypatch: pytest.MonkeyPatch, log: str, code: int = 0) -> None:
    """An `ncu` that writes a log, answers in the child's place, and ends with an exit code."""
    (folder / "log").write_text(log)
    script = folder / "ncu"
    script.write_text(
        '#!/bin/sh\nwhile [ "$1" != --log-file ]; do shift; done\n'
        f"cat '{folder / 'log'}' > \"$2\"\necho '{{}}'\nexit {code}\n"
    )
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")


def test_ncus_counts_are_summed_over_kernels_and_an_fma_is_two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_ncu(tmp_path, monkeypatch, NCU)
    assert counters.read_counters("module", {}) == (16192, 2 * (700 + 2 * 300))


def test_counters_that_are_not_permitted_or_not_told_are_said_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_ncu(tmp_path, monkeypatch, "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission\n", code=1)
    with pytest.raises(ChildError, match="not permitted"):
        counters.read_counters("module", {})
    fake_ncu(tmp_path, monkeypatch, NCU.replace("dram__bytes_read", "l2__bytes_read"))
    with pytest.raises(ChildError, match="nothing of dram__bytes_read"):
        counters.read_counters("module", {})
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    with pytest.raises(ChildError, match="not on the PATH"):
        counters.read_counters("module", {})


def test_compiling_is_timed_with_an_empty_cache_and_then_with_a_filled_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "compiling.py").write_text(
        "import json, os, pathlib, sys\n"
        "assert json.loads(sys.argv[1]) != {'kernel': 'broken'}, 'no such kernel'\n"
        "kept = pathlib.Path(os.environ['NUMBA_CACHE_DIR']) / 'kept'\n"
        "print('noise')\n"
        "print(json.dumps({'compile_seconds': 0.5 if kept.exists() else 9.0}))\n"
        "kept.touch()\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    good, bad = children.compile_times("compiling", [{"kernel": "a"}, {"kernel": "broken"}])
    assert good == {"compile_cold_seconds": 9.0, "compile_warm_seconds": 0.5}
    assert bad == {"compile_error": "AssertionError: no such kernel"}
    with pytest.raises(ChildError, match="no answer"):
        children.ask_child("this", {}, {})  # prints the Zen of Python


def test_the_child_of_the_stencil_benchmark_answers() -> None:
    request = {"device": "cpu", "shape": [3, 4, 20], "precision": "float32", "materials": 1, "layers": 0}
    request["profiled"] = False
    for kernel in kernels.select_kernels(("cpu",)):
        assert counters.main({**request, "name": kernel.name})["compile_seconds"] >= 0


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
