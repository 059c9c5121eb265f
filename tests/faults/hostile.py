"""Scenario files, data files and expressions that are generated to do harm: each is refused in one message, or used.

`python -m faults.hostile` (from tests/) prints the counts; `make faults` calls it.
"""

from __future__ import annotations

import argparse
import io
import random
import tempfile
import time
import tracemalloc
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
from helpers.scenario_texts import SMALL
from PIL import Image

from faults.cases import CASES, write_case
from faults.kills import report
from heatsim.errors import HeatsimError
from heatsim.problem import build_problem
from heatsim.problem.shapes.stl import read_surface
from heatsim.scenario import load
from heatsim.scenario.language.expressions.parser import ExpressionError, parse
from heatsim.store.inputs import read_array

MAX_SECONDS, MAX_BYTES = 5.0, 1e9
WORDS = [
    "1e30",
    "-1", "0", "inf", "nan", "1e-300", '"T**20"', '"x/0"', '"exp(exp(t))"', "true", "[]", "{}", "[[[[]]]]", '""',
    '"../../etc/passwd"', '"/dev/zero"', '"/proc/self/mem"', "1979-05-27", "0x7fffffffffffffff", "9" * 400, '"\\u0000"',
    '{ T = [1, 2], value = [1, 1e300] }', '{ file = "/etc/passwd" }', '"a" * 9', "[1, 2, 3]", '"steel"', "293.15",
]  # fmt: skip
TOKENS = [
    "x", "y", "z", "t", "T",
    "pi", "1", "1e308", "(", ")", "+", "-", "*", "/", "**", ",", "<", ">=", "==", " and ", " or ",
    "not ", " if ", " else ", "sin(", "exp(", "min(", "max(", "step(", "__import__", "os", ".", "[", "]", "'", "lambda",
    ":", "=", "open(", "eval(", "{", "}", "\\", "\n", "#", "ü", "{t}", "f''", ":=", "await ", "9" * 30, "True", "None",
]  # fmt: skip


def mutated_text(text: str, chance: random.Random) -> str:
    """A scenario with some values replaced, lines moved, or characters changed."""
    lines = text.split("\n")
    for _ in range(chance.randint(1, 4)):
        number = chance.randrange(len(lines))
        kind = chance.randrange(5)
        if kind <= 2 and "=" in lines[number]:
            lines[number] = f"{lines[number].partition('=')[0]}= {chance.choice(WORDS)}"
        elif kind == 3:
            lines.insert(chance.randrange(len(lines)), lines.pop(number))
        elif lines[number]:
            place = chance.randrange(len(lines[number]))
            lines[number] = lines[number][:place] + chr(chance.randrange(1, 0x250)) + lines[number][place + 1 :]
    return "\n".join(lines)


def mutated_bytes(content: bytes, chance: random.Random) -> bytes:
    """A file with bytes changed, cut out or doubled."""
    changed = bytearray(content)
    for _ in range(chance.randint(1, 8)):
        place = chance.randrange(len(changed)) if chance.random() < 0.5 else chance.randrange(min(128, len(changed)))
        changed[place] = chance.randrange(256)
    if chance.random() < 0.2:
        del changed[chance.randrange(len(changed)) :]
    return bytes(changed) or b"\0"


def guarded(work: Callable[[], object], counts: Counter[str]) -> None:
    """Do work and count how it ends."""
    begun = time.perf_counter()
    try:
        work()
        counts["accepted"] += 1
    except HeatsimError:
        counts["refused"] += 1
    except Exception as error:
        counts["tracebacks"] += 1
        print(f"  {type(error).__name__}: {str(error)[:200]}")
    counts[f"over {MAX_SECONDS:g} s"] += time.perf_counter() - begun > MAX_SECONDS


def scenarios(count: int, seed: int = 1) -> Counter[str]:
    """Read so many generated scenario files; build the problems of those that are valid and small."""
    chance, counts = random.Random(seed), Counter({"scenario files": 0, "tracebacks": 0, "over 1 GB": 0})
    sources = [SMALL, *CASES.values()]

    with tempfile.TemporaryDirectory() as folder, np.errstate(all="ignore"):
        path = write_case(Path(folder), SMALL)
        files = len(list(Path(folder).iterdir()))

        def read() -> None:
            scenario = load(path)
            if np.prod(scenario.grid.cells) < 10_000:
                build_problem(scenario)

        tracemalloc.start()
        for number in range(count):
            path.write_text(mutated_text(sources[number % len(sources)], chance), encoding="utf-8", errors="replace")
            counts["scenario files"] += 1
            guarded(read, counts)
            if number % 100 == 99:
                counts["over 1 GB"] += tracemalloc.get_traced_memory()[1] > MAX_BYTES
                tracemalloc.reset_peak()
        tracemalloc.stop()
        counts["files outside or left behind"] = len(list(Path(folder).iterdir())) - files
    return counts


def input_files() -> dict[str, bytes]:
    """Small whole files of the kinds that arrays come from."""
    values, found = np.arange(60.0).reshape(3, 4, 5), {}
    for suffix, save in ((".npy", np.save), (".npz", np.savez)):
        stream = io.BytesIO()
        save(stream, values)
        found[suffix] = stream.getvalue()
    stream = io.BytesIO()
    Image.fromarray(np.arange(64, dtype=np.uint8).reshape(8, 8)).save(stream, format="PNG")
    found[".png"] = stream.getvalue()
    stream = io.BytesIO()
    with h5py.File(stream, "w") as file:
        file.create_dataset("a", data=values, chunks=(1, 4, 5), compression="gzip", shuffle=True, fletcher32=True)
    found[".h5"] = stream.getvalue()
    return found


def tetrahedron() -> bytes:
    """A closed surface as a text of STL."""
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    facets = [corners[list(facet)] for facet in ((0, 2, 1), (0, 1, 3), (1, 2, 3), (0, 3, 2))]
    lines = [
        "facet normal 0 0 0\nouter loop\n"
        + "".join("vertex {} {} {}\n".format(*corner) for corner in facet)
        + "endloop\nendfacet\n"
        for facet in facets
    ]
    return f"solid a\n{''.join(lines)}endsolid a\n".encode()


def inputs(count: int, hdf5: int, seed: int = 1) -> Counter[str]:
    """Read so many damaged input files, `hdf5` of them HDF5, each in a process of its own; a table as the trace of a
    scenario."""
    chance, counts = random.Random(seed), Counter({"input files": 0, "tracebacks": 0})
    whole = input_files()
    with tempfile.TemporaryDirectory() as folder:
        scenario = load(write_case(Path(folder), CASES["euler"]))
        whole |= {".csv": (Path(folder) / "trace.csv").read_bytes(), ".stl": tetrahedron()}
        others = [suffix for suffix in whole if suffix != ".h5"]
        readers = {".csv": lambda path: build_problem(scenario), ".stl": read_surface}
        for number in range(count):
            suffix = ".h5" if number < hdf5 else others[number % len(others)]
            path = Path(folder) / ("trace.csv" if suffix == ".csv" else f"input{suffix}")
            path.write_bytes(mutated_bytes(whole[suffix], chance))
            counts["input files"] += 1
            counts["HDF5 files"] += suffix == ".h5"
            read = readers.get(suffix, lambda path: read_array(path, max_elements=1000))
            guarded(lambda read=read, path=path: read(path), counts)
    return counts


def expressions(count: int, seed: int = 1) -> Counter[str]:
    """Parse so many texts; whatever is taken consists of the nodes of an expression alone, which evaluate nothing."""
    chance, counts = random.Random(seed), Counter({"expressions": 0, "taken": 0, "refused": 0, "escapes": 0})
    for _ in range(count):
        text = "".join(chance.choice(TOKENS) for _ in range(chance.randint(1, 12)))
        counts["expressions"] += 1
        try:
            node = parse(text, frozenset("xyztT"))
            counts["taken"] += 1
            counts["escapes"] += not type(node).__module__.startswith("heatsim.scenario.language.expressions")
        except ExpressionError:
            counts["refused"] += 1
        except Exception as error:
            counts["escapes"] += 1
            print(f"  {text!r}: {type(error).__name__}: {error}")
    return counts


if __name__ == "__main__":
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--scenarios", type=int, default=100_000)
    arguments.add_argument("--inputs", type=int, default=5_000)
    arguments.add_argument("--hdf5", type=int, default=1_000)
    arguments.add_argument("--expressions", type=int, default=100_000)
    given = arguments.parse_args()
    report("expressions made of random tokens", expressions(given.expressions))
    report("damaged input files", inputs(given.inputs, given.hdf5))
    report("generated scenario files", scenarios(given.scenarios))
