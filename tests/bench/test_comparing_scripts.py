"""The scripts in benchmarks/: the race that all run, what they say of it, and the scenarios that they bring along."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from helpers.in_turn import in_turn

from heatsim.scenario import loads
from heatsim.studies.bench import harness
from heatsim.studies.bench.harness import Pace

SCRIPTS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(autouse=True)
def _scripts_can_be_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(SCRIPTS))


def contender(name: str, seconds: list[float], verify: Callable[[], str] = lambda: "") -> harness.Contender:
    """One that says of each round how long it took, and fails in a round that it has no time for."""
    times = iter(seconds)
    return harness.Contender(name, harness.holding(lambda repetitions: next(times) * repetitions), verify)


def refuse() -> str:
    raise harness.Skipped("not installed")


def race(*contenders: harness.Contender) -> list[dict[str, Any]]:
    return harness.race(contenders, "mine".__eq__, Pace(0.0, warm=False, rounds=3, repetitions=1))


def test_a_race_says_who_was_timed_who_failed_and_who_was_not_there() -> None:
    mine, peer, wrong, missing, broken = race(
        contender("mine", [2.0, 2.0, 2.2]),
        contender("peer", [5.0, 4.0, 4.0]),
        contender("wrong", [], lambda: "off by 3"),
        contender("missing", [], refuse),
        contender("broken", [1.0]),
    )
    assert (mine["median"], mine["best"], mine["times"], mine["doubt"]) == (2.0, 2.0, 1.0, "")
    assert (peer["times"], peer["seconds"]) == (2.0, [5.0, 4.0, 4.0])
    assert (wrong, missing) == (
        {"name": "wrong", "failed": "off by 3"},
        {"name": "missing", "skipped": "not installed"},
    )
    assert broken == {"name": "broken", "failed": "StopIteration: "}


@in_turn(
    ("seconds", "told"),
    [
        ([3.8, 4.0, 4.8], "2.00 (devito), target 2.0"),
        ([0.4, 0.4, 0.4], "no ratio; devito: a round took 0.4 s, and at least 1 s are needed"),
        ([2.0, 2.1, 2.8], "no ratio; devito: its rounds spread by 38%"),
    ],
)
def test_no_ratio_is_made_of_rounds_that_are_short_or_spread(seconds: list[float], told: str) -> None:
    """And what is named beside it are the peers that were timed."""
    rows = harness.race(
        [contender("heatsim", [2.0] * 3), contender("devito", seconds), contender("pystencils", [], refuse)],
        "heatsim".__eq__,
        Pace(0.0, warm=False, rounds=3, repetitions=1),
    )
    compare = import_module("compare_cpu")
    (verdict,) = compare.verdict(rows, "constant")
    assert verdict.startswith(f"heatsim over the fastest of devito: {told}")
    *_, shown = compare.COLUMNS
    assert shown.show(rows[1]) == ("2.00" if "target" in told else "-")


def test_a_peer_is_asked_and_what_it_raises_is_its_answer(tmp_path: Path) -> None:
    (tmp_path / "peer_of_test.py").write_text(
        "class Peer:\n"
        "    def verify(self, number): return '' if number == 1 else 'wrong'\n"
        "    def run(self, count): print('noise'); return 2.0 * count\n"
        "    def fail(self): raise ValueError('no\\nmemory')\n"
        "    def leave(self): raise SystemExit(3)\n"
        "def make_peer(name):\n"
        "    if name == 'absent': import surely_not_there\n"
        "    return Peer()\n"
    )
    script = import_module("script")
    with script.start_peer(None, "peer_of_test", "there", threads=1, PYTHONPATH=str(tmp_path)) as peer:
        right, wrong = (peer.contender(name, {}, number) for name, number in (("right", 1), ("wrong", 2)))
        assert (right.verify(), wrong.verify(), right.prepare()(2)) == ("", "wrong", 4.0)
        with pytest.raises(script.PeerError, match=r"^no$"):
            peer.ask("fail")
        with pytest.raises(script.PeerError, match="its process ended, exit code 3"):
            peer.ask("leave")
    with (
        script.start_peer(None, "peer_of_test", "absent", threads=1, PYTHONPATH=str(tmp_path)) as peer,
        pytest.raises(harness.Skipped, match="No module named 'surely_not_there'"),
    ):
        peer.ask("verify", 1)


def test_a_program_gives_the_field_of_the_reference_or_is_not_timed() -> None:
    with import_module("script").start_peer(None, "peers.explicit", "numpy", "0", threads=1) as peer:
        said = peer.ask("verify", 8, "float32")
        assert ("failed" not in said, said["boundary"], peer.ask("run", 2) > 0) == (True, "ghost", True)


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
        f"cat '{folder / 'log'}' > \"$2\"\necho 0\nexit {code}\n"
    )
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")


def test_ncus_counts_are_summed_over_kernels_and_an_fma_is_two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    profile = import_module("profile_stencil")
    fake_ncu(tmp_path, monkeypatch, NCU)
    assert profile.counted({}, tmp_path) == (16192, 2 * (700 + 2 * 300))


def test_counters_that_are_not_permitted_or_not_told_are_said_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    profile, cache = import_module("profile_stencil"), tmp_path
    fake_ncu(tmp_path, monkeypatch, "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission\n", code=1)
    with pytest.raises(profile.ChildError, match="not permitted"):
        profile.counted({}, cache)
    fake_ncu(tmp_path, monkeypatch, NCU.replace("dram__bytes_read", "l2__bytes_read"))
    with pytest.raises(profile.ChildError, match="nothing of dram__bytes_read"):
        profile.counted({}, cache)
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    with pytest.raises(profile.ChildError, match="not on the PATH"):
        profile.counted({}, cache)


def test_compiling_is_timed_with_an_empty_cache_and_then_with_a_filled_one(monkeypatch: pytest.MonkeyPatch) -> None:
    profile, filled = import_module("profile_stencil"), set[Path]()

    def child(request: dict[str, Any], cache: Path) -> float:
        if request["name"] == "broken":
            raise profile.ChildError("no such kernel")
        seconds = 0.5 if cache in filled else 9.0
        filled.add(cache)
        return seconds

    monkeypatch.setattr(profile, "child", child)
    good, bad = (profile.profile(name, "cpu", 8, "float32") for name in ("cpu (single)", "broken"))
    assert (good["cold"], good["warm"], bad["failed"]) == (9.0, 0.5, "no such kernel")


def test_a_kernel_is_made_ready_to_be_profiled() -> None:
    profile = import_module("profile_stencil")
    assert profile.ready_kernel("cpu (single)", "cpu", 20, "float32", profiled=False) >= 0
    with pytest.raises(profile.ChildError, match="ready_kernel"):
        profile.child({"unknown": 1}, Path("nowhere"))


@pytest.mark.parametrize("script", ["compare_auto", "compare_materials", "measure_memory"])
def test_the_scenarios_of_the_scripts_are_valid(script: str) -> None:
    module = import_module(script)
    if script == "compare_auto":
        assert all(loads(each.text()).time.end for each in module.PROBLEMS.values())
    elif script == "compare_materials":
        assert all(module.problem_of(kind, "float32", (5, 6, 7)).largest_step > 0 for kind in module.PROBLEMS)
    else:
        assert all(loads(module.text_of(name, 8)).grid.cells == (8, 8, 8) for name in module.PROBLEMS)
