"""What a run says while it computes."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from helpers.commands import BLOCK
from helpers.in_turn import in_turn

import heatsim
from heatsim.cli import progress
from heatsim.problem import build_problem
from heatsim.scenario import loads
from heatsim.simulation import progress as progress_words
from heatsim.simulation.time_loop import LiveValues, Progress, make_look
from heatsim.solve.integrators import make_field
from heatsim.solve.state import State


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def at(time: float, *, end: float = 4.0, look: LiveValues = LiveValues(290.0, 340.5, 310.25)) -> Progress:  # noqa: B008
    return Progress(time, end, int(100 * time), 1000, int(100 * time), lambda: look)


@in_turn(
    ("updates", "said"),
    [
        (3.0, "1.5 cell updates/s"),
        (2e3, "1 k cell updates/s"),
        (3.21e6, "1.6 M cell updates/s"),
        (4e11, "200 G cell updates/s"),
        (0.0, ""),
    ],
)
def test_a_rate_has_a_unit_in_which_it_is_not_nothing(updates: float, said: str) -> None:
    assert progress_words.rate_text(updates, 2.0) == said


def test_a_sparkline_goes_from_the_lowest_bar_to_the_highest() -> None:
    assert progress_words.sparkline([0.0, 1.0, 2.0, 7.0, 3.5]) == "▁▂▃█▅"
    assert progress_words.sparkline([5.0, 5.0]) == "▁▁"


def test_a_terminal_sees_time_step_extremes_the_first_probe_and_the_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(progress.sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.setattr(progress_words, "_LOOK_EVERY", 0.0)
    monkeypatch.setattr(progress_words, "_LOOK_SHARE", 0.0)
    with progress.show_progress(loads(BLOCK), False) as show:
        for step in range(1, 5):
            show(at(0.5 * step, look=LiveValues(290.0, 340.5, 300.0 + step)))
    seen = terminal.getvalue()
    for words in ("t = 2 s of 4 s, step 200", "290 to 340.5 K", "middle ▁▃▆█ 304 K", "cell updates/s", "0:00 left"):
        assert words in seen, words


def test_a_terminal_that_cannot_redraw_gets_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(progress.sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "dumb")
    clock = iter(float(second) for second in range(20, 40))
    monkeypatch.setattr(progress_words.Clock, "elapsed", lambda self: next(clock))
    with progress.show_progress(loads(BLOCK), False) as show:
        show(at(0.5))
    assert "290 to 340.5 K" in terminal.getvalue()
    assert "\x1b" not in terminal.getvalue()


def test_a_pipe_gets_plain_lines_and_few(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    clock = iter([0.0, *(float(second) for second in range(1, 200))])
    monkeypatch.setattr(progress_words.Clock, "elapsed", lambda self: next(clock))
    with progress.show_progress(loads(BLOCK), False) as show:
        for step in range(1, 17):
            show(at(0.25 * step))
    lines = capsys.readouterr().err.splitlines()
    assert 1 <= len(lines) <= 3
    assert "290 to 340.5 K" in lines[0]
    assert "\x1b" not in lines[0]
    assert "▁" not in lines[0]


def test_a_steady_state_has_no_end_and_no_time_left() -> None:
    words = progress_words.ProgressWords(loads(BLOCK))
    endless = at(1.0, end=float("inf"))
    assert (words.time(endless), words.left(endless)) == ("to the steady state, step 100", "")


def test_the_field_is_read_seldom_where_reading_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(progress_words.Clock, "elapsed", lambda self: now[0])
    looks: list[float] = []

    def look() -> LiveValues:
        looks.append(now[0])
        now[0] += 1.0  # s, of a large field
        return LiveValues(0.0, 1.0, 0.5)

    words = progress_words.ProgressWords(loads(BLOCK))
    for _ in range(900):
        words.look(Progress(1.0, 4.0, 1, 1000, 1, look))
        now[0] += 0.1
    assert len(looks) == 2  # within 92 s


def test_what_is_seen_is_what_the_field_has() -> None:
    problem = build_problem(loads(BLOCK))
    state = State(problem, make_field(problem, "cpu"))
    seen = make_look(state)()
    field = state.temperature()
    assert seen.lowest == pytest.approx(float(field.min()))
    assert seen.highest == pytest.approx(float(field.max()))
    assert seen.probe == pytest.approx(300 + 500 * 0.031 + 100 * 0.021, abs=1e-3)


def test_ambients_are_no_extremes() -> None:
    text = BLOCK.replace('[[regions]]\nmaterial = "steel"', '[[regions]]\nmaterial = "fire"')
    text = text.replace("[[regions]]", "[ambients.fire]\ntemperature = 2000.0\ncoefficient = 5.0\n[[regions]]", 1)
    problem = build_problem(loads(text))
    state = State(problem, make_field(problem, "cpu"))
    assert state.temperature().max() == pytest.approx(2000.0)
    assert state.extremes()[1] == pytest.approx(300 + 500 * 0.0575 + 100 * 0.0375)


def test_a_run_tells_its_caller_what_it_sees(tmp_path: Path) -> None:
    seen: list[LiveValues] = []

    def on_progress(now: Progress) -> bool:
        seen.append(now.look())
        return True

    heatsim.run(loads(BLOCK), tmp_path / "run", on_progress=on_progress)
    assert seen
    assert all(np.isfinite([each.lowest, each.highest, each.probe]).all() for each in seen)
