"""The scripts in benchmarks/: the race that all run, what they say of it, and the scenarios that they bring along."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from helpers.in_turn import in_turn

from heatsim.scenario import loads
from heatsim.studies.bench import harness
from heatsim.studies.bench.children import ChildError, start_peer
from heatsim.studies.bench.timing import Pace

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
    with start_peer(None, "peer_of_test", "there", threads=1, PYTHONPATH=str(tmp_path)) as peer:
        assert (harness.verified_by(peer, {}, 1), harness.verified_by(peer, {}, 2), peer.run(2)) == ("", "wrong", 4.0)
        with pytest.raises(ChildError, match=r"^no$"):
            peer.ask("fail")
        with pytest.raises(ChildError, match="its process ended, exit code 3"):
            peer.ask("leave")
    with (
        start_peer(None, "peer_of_test", "absent", threads=1, PYTHONPATH=str(tmp_path)) as peer,
        pytest.raises(harness.Skipped, match="No module named 'surely_not_there'"),
    ):
        harness.verified_by(peer, {}, 1)


def test_a_program_gives_the_field_of_the_reference_or_is_not_timed() -> None:
    with start_peer(None, "peers.explicit", "numpy", "0", threads=1, PYTHONPATH=str(SCRIPTS)) as peer:
        about: dict[str, Any] = {}
        assert harness.verified_by(peer, about, 8, "float32") == ""
        assert (about["boundary"], peer.run(2) > 0) == ("ghost", True)


@pytest.mark.parametrize("script", ["compare_auto", "compare_materials", "measure_memory"])
def test_the_scenarios_of_the_scripts_are_valid(script: str) -> None:
    module = import_module(script)
    if script == "compare_auto":
        assert all(loads(each.text()).time.end for each in module.PROBLEMS.values())
    elif script == "compare_materials":
        assert all(module.problem_of(kind, "float32", (5, 6, 7)).largest_step > 0 for kind in module.PROBLEMS)
    else:
        assert all(loads(module.text_of(name, 8)).grid.cells == (8, 8, 8) for name in module.PROBLEMS)
