"""What a run says while its kernels compile, and `heatsim warm`."""

from __future__ import annotations

import atexit
import gc
import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from heatsim_kernels.device import compile_watch
from heatsim_kernels.device.cpu import compilation
from heatsim_kernels.device.kernel_cache import cache_folder
from helpers.commands import BLOCK, SMALL, Heatsim, Invoke
from numba import config

from heatsim.cli import progress
from heatsim.scenario import Scenario, load
from heatsim.simulation import precompile

Write = Callable[..., Path]
KERNELS = ("heatsim_kernels.explicit.cell_classes", "heatsim_kernels.explicit.cpu.fused_pass")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def third(value):  # type: ignore[no-untyped-def]
    return value / 3


@pytest.fixture
def scenario(write: Write, tmp_path: Path) -> Scenario:
    write(BLOCK)
    return load(tmp_path / "case.toml")


def compile_two(scenario: Scenario, quiet: bool = False) -> None:
    """What is shown of a run that compiles two kernels."""
    with progress.show_progress(scenario, quiet):
        for module in KERNELS:
            compile_watch.announce(module)


def test_a_pipe_gets_one_line_where_compiling_begins(scenario: Scenario, capsys: pytest.CaptureFixture[str]) -> None:
    compile_two(scenario)
    line, *others = capsys.readouterr().err.splitlines()
    about = precompile.expected_kernels(scenario)
    assert line == f"compiling kernels: 1 of about {about} (explicit: cell classes); later runs start at once"
    assert not others


def test_a_terminal_is_told_of_each_kernel_in_place(scenario: Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    class Shown(progress._Lines):
        def compiling(self, text: str) -> None:
            seen.append(text)

    @contextmanager
    def bar(words: progress.ProgressWords) -> Iterator[progress.Show]:
        yield Shown(words)

    monkeypatch.setattr(progress.sys, "stderr", Terminal())
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(progress, "_terminal", bar)
    compile_two(scenario)
    about = precompile.expected_kernels(scenario)
    assert seen == [
        f"compiling kernels: 1 of about {about} (explicit: cell classes)",
        f"compiling kernels: 2 of about {about} (explicit: fused pass)",
    ]


def test_the_bar_of_a_terminal_shows_what_is_compiled(scenario: Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(progress.sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with progress.show_progress(scenario, False):
        compile_watch.announce(KERNELS[0])
    assert "compiling kernels: 1 of about" in terminal.getvalue()


def test_quiet_runs_say_nothing(scenario: Scenario, capsys: pytest.CaptureFixture[str]) -> None:
    compile_two(scenario, quiet=True)
    assert not capsys.readouterr().err


def test_a_run_that_compiles_nothing_says_nothing(heatsim: Heatsim, write: Write) -> None:
    write(BLOCK)
    heatsim("run", "case.toml")
    assert heatsim("run", "case.toml", "--force").stderr == ""


def test_a_kernel_is_told_of_where_it_is_compiled_and_not_where_it_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And not the functions that are compiled along with it."""
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))
    cache_folder.cache_clear()
    told: list[str] = []
    with compile_watch.watch_compiling(told.append):
        for _ in range(2):
            inner = compilation.called(third)
            compilation.jit(lambda value, inner=inner: inner(value))(1.0)
    cache_folder.cache_clear()
    assert told[:1] == [__name__]


def test_what_was_warmed_up_compiles_no_more(heatsim: Heatsim, write: Write, tmp_path: Path) -> None:
    write(SMALL)
    first, second = heatsim("warm", "case.toml"), heatsim("warm", "case.toml")
    assert first.returncode == second.returncode == 0, first.stderr
    assert second.stdout == "nothing to compile\n"
    assert second.stderr == "case: no kernels compiled\n"
    assert heatsim("run", "case.toml").stderr == ""
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_dir()) == ["outputs"]


def test_warming_up_reports_scenarios_that_are_wrong(invoke: Invoke, write: Write) -> None:
    write(SMALL)
    done = invoke("warm", "case.toml", "missing.toml")
    assert done.exit_code == 1
    assert "error: missing: " in done.stderr


def test_common_scenarios_are_valid(tmp_path: Path) -> None:
    files = precompile.common_scenarios(tmp_path)
    used = {load(file).time.integrator for file in files}
    assert used == set(precompile.INTEGRATORS) - {"auto"}


def test_a_process_of_its_own_leaves_its_objects_to_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    at_the_end: list[object] = []
    monkeypatch.setattr(atexit, "register", at_the_end.append)
    precompile.prepare_process()
    assert at_the_end == [gc.freeze]
