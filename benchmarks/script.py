"""What the scripts share: options, the processes of other programs, and the table at the end.

A peer is a process of another program, perhaps of another Python: `python -m peers.serve MODULE NAME ARGUMENTS` makes
`MODULE.make_peer(NAME, *ARGUMENTS)` and calls its methods. See peers/serve.py.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from math import inf
from pathlib import Path
from typing import Any

from heatsim.base.tables import Row, TableColumn
from heatsim.errors import HeatsimError
from heatsim.studies.bench import harness, machine
from heatsim.studies.bench.harness import PRECISIONS, Contender, Pace, Skipped, chosen, holding

HERE = Path(__file__).parent
PEERS_PYTHON = Path("peers-venv/bin/python")

# Options and what they mean; a script offers those that it names.
MEANINGS = {
    "device": "where to compute",
    "size": "cells along each axis",
    "precision": "of the numbers",
    "problem": "a problem, may be repeated [all]",
    "kernel": "a kernel, may be repeated [all]",
    "peer": "a program, may be repeated [all]",
    "peers_python": "the Python that has the other programs",
    "threads": "threads, on as many cores",
    "rounds": "timed rounds, in turn",
    "seconds": "time for one measurement",
    "steps": "steps of a round [as many as take the time]",
    "json": "write all that was found here as well",
}


class ScriptParser(argparse.ArgumentParser):
    """Ends with one message where a number is not above 0, or a GPU is asked for and missing (exit codes 2 and 4)."""

    def parse_args(self, *given: Any) -> argparse.Namespace:  # type: ignore[override]
        """The options, and the load of the machine before the start."""
        found: argparse.Namespace = super().parse_args(*given)
        for name in ("size", "threads", "rounds", "seconds", "steps"):
            value = getattr(found, name, None)
            if value is not None and not 0 < value < inf:
                self.error(f"--{name} {value}: expected a number above 0")
        try:
            machine.pick_device(getattr(found, "device", "cpu"))
        except HeatsimError as error:
            self.exit(error.exit_code, f"{self.prog}: {error}\n")
        found.load = os.getloadavg()[0]
        return found


def options(doc: str | None, **offered: Any) -> ScriptParser:
    """The parser of a script, with the options that it offers, and --json: the default of each, or what it may be
    (repeated; all unless asked for)."""
    parser = ScriptParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    allowed = {"device": ["cpu", "cuda"], "precision": [*PRECISIONS, *["both"] * (offered.get("precision") == "both")]}
    for name, default in {**offered, "json": None}.items():
        option, meaning = "--" + name.replace("_", "-"), MEANINGS[name]
        if isinstance(default, Collection) and not isinstance(default, str):
            parser.add_argument(
                option, action="append", default=[], choices=list(default), metavar="NAME", help=meaning
            )
            continue
        kind = Path if name == "json" else int if name == "steps" else type(default)
        shown = meaning if default is None else f"{meaning.split(', may be')[0]} [{default}]"
        parser.add_argument(option, type=kind, default=default, choices=allowed.get(name), help=shown)
    return parser


def finish(
    given: argparse.Namespace,
    columns: Sequence[TableColumn],
    rows: list[Row],
    notes: Iterable[str] = (),
    group: Callable[[Row], Any] = lambda row: 0,
) -> int:
    """Print what a script found, and write it where --json says; the exit code is 1 if something was wrong."""
    about = machine.describe_machine(getattr(given, "device", "cpu"))
    print(f"{about['device_name']}; load before the start {given.load:.1f}; {shlex.join(sys.argv)}")
    skipped = dict.fromkeys(f"{row['name']} was skipped: {row['skipped']}" for row in rows if "skipped" in row)
    document = {"command": shlex.join(sys.argv), "machine": about, "rows": rows, "notes": [*notes, *skipped]}
    return harness.show(document, columns, group, print, given.json)


# Peers.


class PeerError(Exception):
    """A peer did not answer, or answered that it cannot; the message says why."""


class Peer:
    """The process of another program, asked over its stdin and stdout; what it prints goes to a log."""

    def __init__(self, process: subprocess.Popen[str], log: Path) -> None:
        self._process, self._log = process, log

    def ask(self, method: str, *arguments: Any) -> Any:
        """The answer of a method of the peer. Raises `Skipped` where its program is not there or solves no such
        problem, and `PeerError` where it fails or the process has ended."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            print(json.dumps([method, arguments]), file=self._process.stdin, flush=True)
            value, error, missing = json.loads(self._process.stdout.readline())
        except (OSError, ValueError):
            last = self._log.read_text(errors="replace").strip().splitlines()[-1:]
            raise PeerError(f"its process ended, exit code {self._process.wait()} {' '.join(last)}".strip()) from None
        if error is not None:
            raise (Skipped if missing else PeerError)(error)
        return value

    def contender(self, name: str, about: Row, *problem: Any) -> Contender:
        """A contender that verifies a problem, times it by its own clock, and says at last what it found."""
        return Contender(
            name,
            holding(lambda repetitions: float(self.ask("run", repetitions))),
            lambda: self.ask("verify", *problem),
            about,
            lambda: dict(self.ask("found")),
        )


@contextmanager
def start_peer(
    python: Path | str | None, module: str, *arguments: object, threads: int, **environment: str
) -> Iterator[Peer]:
    """A peer of a Python, this one unless named, with so many threads."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "NPROC")
    given = {**os.environ, **dict.fromkeys(names, str(threads)), **environment}  # NPROC: XLA's pool
    given["PYTHONPATH"] = os.pathsep.join([str(HERE), str(HERE.parent), *filter(None, [given.get("PYTHONPATH")])])
    command = [str(python or sys.executable), "-m", "peers.serve", module, *map(str, arguments)]
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        with log.open("w") as stderr:
            process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, text=True, env=given
            )
        try:
            yield Peer(process, log)
        finally:
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    with suppress(OSError):
                        pipe.close()
            process.wait()


def peers_python() -> str:
    """The Python that has other programs, unless one is named: that of peers-venv if it is there, or this one."""
    return str(PEERS_PYTHON.absolute()) if PEERS_PYTHON.exists() else sys.executable


def race_peers(
    given: argparse.Namespace,
    module: str,
    known: Iterable[str],
    problem: Sequence[object],
    about: Row,
    pace: Pace,
    *words: object,
    **environment: str,
) -> list[Row]:
    """The rows of the `known` peers of a module that are asked for: heatsim in this Python, the others in another.

    problem: what each verifies and holds ready; words, environment: of their processes.
    """
    with ExitStack() as stack:
        contenders = []
        for name in chosen(given.peer, known):
            python = None if name.startswith("heatsim") else given.peers_python
            starting = start_peer(python, module, name, *words, threads=given.threads, **environment)
            contenders.append(stack.enter_context(starting).contender(name, about, *problem))
        return harness.race(contenders, "heatsim".__eq__, pace)
