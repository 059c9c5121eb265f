"""Mutants of the shipped scenarios and of chip files: `heatsim validate` and `heatsim import` take or refuse each of
them, in 5 s and 1 GB, without a traceback.

`python -m faults.mutants --scenarios 200000 --chips 50000 --first 0` (from tests/) prints the counts; `make faults`
calls it. Where there are many cores, set OPENBLAS_NUM_THREADS=1: buffers of its threads count as memory of a mutant. A
mutant is made of its number alone, so ranges of numbers go on where others ended, and `--show scenarios:1234` prints
one. Mutants are judged in forked processes, whose memory is limited and whose CPU time is watched; what takes too long
or too much is judged once more, alone, before it counts.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import io
import json
import mmap
import os
import random
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from math import prod
from pathlib import Path
from typing import NamedTuple

import click
import numpy as np
from helpers.chip_files import CHIPS

from faults.kills import report
from faults.mutations import Corpus, mutated
from heatsim.cli.importing import import_
from heatsim.errors import HeatsimError
from heatsim.problem import build_problem
from heatsim.problem.building import require_setup_memory
from heatsim.scenario import Scenario, load
from heatsim.scenario.loading import loads

SHIPPED = Path(__file__).parents[2] / "scenarios"
MAX_SECONDS, MAX_BYTES = 5.0, 10**9
HANGS = 20.0  # s of CPU time, after which a process is killed that cannot be interrupted
BUILT, SOMETIMES_BUILT = 20_000, 1_000_000  # cells of a problem that is always built, and of one that is now and then
LARGEST_DATA = 100_000  # bytes of a data file of which mutants are made
A_CHUNK = 2000  # mutants of a process
Found = tuple[str, str]  # how a mutant ends, and what kind of fault that is


class TooLong(BaseException):
    """A mutant has taken its CPU time."""


class Mutant(NamedTuple):
    """The texts of files by their names, the first the one that a command names; options of the command."""

    origin: str
    files: dict[str, str]
    options: tuple[str, ...] = ()


# --- what mutants are made of


@cache
def shipped() -> dict[str, str]:
    """The shipped scenarios by their names, those of many cells with fewer."""
    paths = [*sorted(SHIPPED.glob("*.toml")), *sorted((SHIPPED / "verify").glob("*.toml"))]
    return {path.stem: _coarse(path.read_text()) for path in paths}


def _coarse(text: str) -> str:
    def fewer(match: re.Match[str]) -> str:
        cells = [int(each) for each in match[1].split(",")]
        return match[0] if prod(cells) < BUILT else f"cells = {[min(each, 16) for each in cells]}"

    return text if "label" in text else re.sub(r"cells = \[([\d, ]+)\]", fewer, text)


@cache
def _corpora() -> dict[str, Corpus]:
    texts: dict[str, list[str]] = {"toml": [*shipped().values()]}
    for name, text in [each for files, _ in CHIPS.values() for each in files.items()]:
        texts.setdefault(name.rpartition(".")[2], []).append(text)
    return {suffix: Corpus(found) for suffix, found in texts.items()} | {"csv": Corpus(["t,x\n0,1\n1e9,-2"])}


def _mutant_of(name: str, text: str, chance: random.Random) -> str:
    corpora = _corpora()
    return mutated(text, chance, corpora.get(name.rpartition(".")[2], corpora["toml"]))


def scenario_mutant(number: int) -> Mutant:
    """A scenario, and now and then with one of the small data files that it names."""
    chance = random.Random(f"scenario {number}")
    origin = chance.choice([*shipped()])
    text = shipped()[origin]
    names = [name for name in re.findall(r'"((?:data/)?\w+\.(?:csv|flp))"', text) if _small(name)]
    if names and chance.random() < 0.3:
        name = chance.choice(names)
        data = {name: _mutant_of(name, _data_file(name).read_text(), chance)}
        return Mutant(origin, {"case.toml": text if chance.random() < 0.7 else _mutant_of("toml", text, chance)} | data)
    return Mutant(origin, {"case.toml": _mutant_of("toml", text, chance)})


def _data_file(name: str) -> Path:
    return (SHIPPED if name.startswith("data/") else SHIPPED / "verify") / name


def _small(name: str) -> bool:
    return _data_file(name).exists() and _data_file(name).stat().st_size < LARGEST_DATA


def chip_mutant(number: int) -> Mutant:
    """An import of HotSpot or 3D-ICE of which one to all files are mutated."""
    chance = random.Random(f"chip {number}")
    origin = chance.choice([*CHIPS])
    files, options = CHIPS[origin]
    changed = chance.sample([*files], chance.choice((1, 1, 1, 2, min(3, len(files)))))
    cells = ("--cells", str(chance.choice((4, 8, 8, 12)))) if chance.random() < 0.8 or "HotSpot" in origin else ()
    texts = {name: _mutant_of(name, text, chance) if name in changed else text for name, text in files.items()}
    return Mutant(origin, texts, (*options, *cells))


# --- how they are judged


def validate(mutant: Mutant, folder: Path, chance: random.Random) -> str:
    """Do what `heatsim validate` does, but build what is small only; how it ends."""
    text = mutant.files["case.toml"]
    with _written({name: data for name, data in mutant.files.items() if name != "case.toml"}, folder):
        return _built(loads(text, folder / "case.toml", trust=False), chance)


def import_and_validate(mutant: Mutant, folder: Path, chance: random.Random) -> str:
    """Do what `heatsim import` does, and validate the scenario that it makes."""
    for name, text in mutant.files.items():
        (folder / name).write_text(text, encoding="utf-8", errors="replace")
    first = str(folder / next(iter(mutant.files)))
    options = [str(folder / each) if each in mutant.files else each for each in mutant.options]
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            import_.main([first, "-o", str(folder / "made.toml"), "--force", *options], standalone_mode=False)
    except click.ClickException:
        return "refused"
    return _built(load(folder / "made.toml"), chance)


def _built(scenario: Scenario, chance: random.Random) -> str:
    cells = prod(scenario.grid.cells)
    if cells <= BUILT or (cells <= SOMETIMES_BUILT and chance.random() < 0.02):
        build_problem(scenario).warnings()
        return "valid"
    require_setup_memory(scenario)
    return "valid, too large to be built here"


@contextlib.contextmanager
def _written(files: dict[str, str], folder: Path) -> Iterator[None]:
    """Data files of a mutant in place of the whole ones, until it is judged."""
    whole = {name: (folder / name).read_bytes() for name in files}
    try:
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8", errors="replace")
        yield
    finally:
        for name, content in whole.items():
            (folder / name).write_bytes(content)


KINDS: dict[str, tuple[Callable[[int], Mutant], Callable[[Mutant, Path, random.Random], str]]] = {
    "scenarios": (scenario_mutant, validate),
    "chips": (chip_mutant, import_and_validate),
}


def judged(kind: str, number: int, folder: Path) -> Found:
    """How a mutant ends: "valid", "refused", or a fault and its kind."""
    make, judge = KINDS[kind]
    mutant = make(number)
    try:
        return judge(mutant, folder, random.Random(number)), ""
    except HeatsimError as error:
        return ("refused", "") if str(error).strip() else ("refused without a word", "")
    except MemoryError as error:
        return f"over {MAX_BYTES / 1e9:g} GB", _kind_of(error)
    except TooLong as error:
        return f"over {MAX_SECONDS:g} s", _kind_of(error)
    except Exception as error:
        return "tracebacks", _kind_of(error)


def _kind_of(error: BaseException) -> str:
    """The place in heatsim's code where it was raised, or that called what raised it, and its words without numbers."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if "/heatsim/" in frame.filename or "/heatsim_kernels/" in frame.filename]
    at = (own or list(frames))[-1]
    words = re.sub(r"[-+]?\d[\d.e+-]*|'[^']*'|\"[^\"]*\"", "_", str(error))[:80]
    return f"{type(error).__name__} in {Path(at.filename).name}:{at.lineno} {at.name}: {words}"


@contextlib.contextmanager
def work_folder() -> Iterator[Path]:
    """A folder with the data that the shipped scenarios name."""
    memory = Path("/dev/shm")  # of which files need no disk
    made = tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None)
    with made as name, warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        folder = Path(name)
        shutil.copytree(SHIPPED / "data", folder / "data")
        shutil.copy(SHIPPED / "verify" / "rosenthal_path.csv", folder)
        yield folder


def counted(kind: str, numbers: Iterable[int], tell: Callable[[str], None] = lambda text: None) -> Counter[str]:
    """Judge mutants in this process, without limits; their counts."""
    counts = Counter({"valid": 0, "refused": 0, "tracebacks": 0})
    with work_folder() as folder:
        for number in numbers:
            end, fault = judged(kind, number, folder)
            counts[end] += 1
            if fault:
                tell(f"{kind}:{number}: {end}: {fault}")
    return counts


# --- processes with limits


def _overdue(number: int, frame: object) -> None:
    raise TooLong


def _in_child(kind: str, numbers: range, folder: Path, now: mmap.mmap, out: int) -> None:
    """Judge mutants, and write how each ends as a line of JSON."""
    used = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (used + MAX_BYTES, used + MAX_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGPROF, _overdue)
    with os.fdopen(out, "w") as lines:
        for number in numbers:
            now[:8] = number.to_bytes(8, "little")
            begun = time.process_time()
            signal.setitimer(signal.ITIMER_PROF, MAX_SECONDS)
            try:
                end, fault = judged(kind, number, folder)
                signal.setitimer(signal.ITIMER_PROF, 0.0)
            except TooLong as error:
                end, fault = f"over {MAX_SECONDS:g} s", _kind_of(error)
            if not fault and time.process_time() - begun > MAX_SECONDS:
                end, fault = f"over {MAX_SECONDS:g} s", "in code that is not interrupted"
            lines.write(json.dumps((number, end, fault)) + "\n")
            lines.flush()


def _watched(kind: str, numbers: range, folder: Path) -> list[tuple[int, str, str]]:
    """How mutants end that are judged in a forked process, up to one that it does not outlive."""
    now = mmap.mmap(-1, 8)
    now[:8] = numbers.start.to_bytes(8, "little")
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.close(read)
            _in_child(kind, numbers, folder, now, write)
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    os.close(write)
    killed = _wait_for(child, now, read_all := _Reader(read))
    found = [(int(number), str(end), str(fault)) for number, end, fault in map(json.loads, read_all.lines())]
    at = int.from_bytes(now[:8], "little")
    if killed:
        found.append((at, f"over {MAX_SECONDS:g} s", "killed"))
    elif not found or found[-1][0] != numbers[-1]:
        found.append((at, "processes that died", "died"))
    return found


class _Reader:
    """What comes through a pipe."""

    def __init__(self, pipe: int) -> None:
        self._pipe, self._content = pipe, bytearray()
        os.set_blocking(pipe, False)

    def take(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while part := os.read(self._pipe, 65536):
                self._content += part

    def lines(self) -> list[str]:
        self.take()
        os.close(self._pipe)
        return self._content.decode().splitlines()


def _wait_for(child: int, now: mmap.mmap, reader: _Reader) -> bool:
    """Wait for a process; whether it had to be killed since one mutant took too much CPU time."""
    last, since = b"", 0.0
    while True:
        ended, _ = os.waitpid(child, os.WNOHANG)
        if ended:
            return False
        reader.take()
        with contextlib.suppress(OSError):
            fields = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
            spent = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
            if now[:8] != last:
                last, since = now[:8], spent
            elif spent - since > HANGS:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                return True
        time.sleep(0.02)


def fuzz(kind: str, first: int, count: int, told_every: float = 60.0) -> tuple[Counter[str], dict[str, list[int]]]:
    """Judge the mutants from `first` on; the counts of how they end, and the numbers of those of each kind of fault."""
    counts, faults = Counter({"mutants": 0}), dict[str, list[int]]()
    number, told = first, time.monotonic()
    with work_folder() as folder:
        gc.freeze()
        while number < first + count:
            chunk = range(number, min(number + A_CHUNK, first + count))
            for at, end, fault in _watched(kind, chunk, folder):
                if fault and end != "tracebacks":  # kernels are compiled by now, and memory is fresh
                    _, end, fault = _watched(kind, range(at, at + 1), folder)[0]
                counts["mutants"] += 1
                counts[end] += 1
                number = at + 1
                if fault:
                    if fault not in faults:
                        print(f"  {kind}:{at}: {end}: {fault}", flush=True)
                    faults.setdefault(fault, []).append(at)
            if time.monotonic() - told > told_every:
                told = time.monotonic()
                print(f"  {kind} up to {number}: {dict(counts)}", flush=True)
    return counts, faults


def _show(name: str) -> None:
    kind, _, number = name.partition(":")
    mutant = KINDS[kind][0](int(number))
    print(f"# {mutant.origin} {' '.join(mutant.options)}")
    for file, text in mutant.files.items():
        print(f"# --- {file}\n{text}")
    with work_folder() as folder:
        make, judge = KINDS[kind]
        try:
            print(judge(make(int(number)), folder, random.Random(int(number))))
        except Exception:
            traceback.print_exc(file=sys.stdout)


if __name__ == "__main__":
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--scenarios", type=int, default=200_000)
    arguments.add_argument("--chips", type=int, default=50_000)
    arguments.add_argument("--first", type=int, default=0)
    arguments.add_argument("--show", default="")
    given = arguments.parse_args()
    if given.show:
        _show(given.show)
        sys.exit()
    for kind, count in (("chips", given.chips), ("scenarios", given.scenarios)):
        if count:
            found, faults = fuzz(kind, given.first, count)
            report(f"mutants of {kind}, from number {given.first}", found)
            for fault, numbers in sorted(faults.items(), key=lambda each: -len(each[1])):
                print(f"  {len(numbers)} x {fault} ({', '.join(map(str, numbers[:5]))})")
