"""`python -m random_problems --first 0 --count 300` (from tests/): a line for each problem, and the counts."""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import pickle
import tempfile
import warnings
from collections import Counter
from pathlib import Path

from random_problems.generator import Generated, generate, reference
from random_problems.judge import VERDICTS, Judgement, judge
from random_problems.reference import Solution, solve

REFERENCE = ("curves", "generator", "inputs", "materials", "network", "reference")  # on which the references rest


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=0, help="number of the first problem")
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--keep", type=Path, help="folder in which problems, references and verdicts stay")
    parser.add_argument("--only", type=int, nargs="*", help="these problems alone")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    numbers = arguments.only or range(arguments.first, arguments.first + arguments.count)
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.keep or Path(temporary)
        counts: Counter[str] = Counter()
        by_kind: dict[str, Counter[str]] = {}
        for n in numbers:
            made, solution = prepared(n, folder / f"{n:04d}")
            found = judge(made, solution, folder / f"{n:04d}")
            counts[found.verdict] += 1
            for kind in dict.fromkeys(made.kinds):
                by_kind.setdefault(kind, Counter())[found.verdict] += 1
            print(line(made, found), flush=True)
            if arguments.keep:
                (folder / f"{n:04d}" / "verdict.json").write_text(json.dumps({**vars(found), "kinds": made.kinds}))
    print_counts(by_kind)
    print(", ".join(f"{counts[each]} {each}" for each in VERDICTS))
    return int(any(counts[each] for each in ("WRONG", "traceback", "ledger")))


def prepared(n: int, folder: Path) -> tuple[Generated, Solution]:
    """Problem n, written to the folder, and its reference; from there if this generator left them there."""
    sources = [f.read_text() for f in sorted(Path(__file__).parent.glob("*.py")) if f.stem in REFERENCE]
    mark = hashlib.sha256("".join(ast.dump(ast.parse(text)) for text in sources).encode()).hexdigest()
    kept = folder / "reference.pickle"
    if kept.exists():
        saved = pickle.loads(kept.read_bytes())
        if saved[0] == mark:
            return saved[1], saved[2]
    made = generate(n, folder)
    made.write(folder)
    try:
        solution = reference(made, folder)
    except ArithmeticError:  # LSODA gives up
        solution = solve(made.document, folder, made.times, made.restarts, made.longest, method="BDF")
    kept.write_bytes(pickle.dumps((mark, made, solution)))
    return made, solution


def print_counts(by_kind: dict[str, Counter[str]]) -> None:
    """A row for each of what problems are made of, a column for each verdict."""
    print(" " * 32 + "".join(f"{each:>10}" for each in VERDICTS))
    for kind, found in sorted(by_kind.items(), key=lambda each: -each[1].total()):
        print(f"{kind:32}" + "".join(f"{found[each] or '':>10}" for each in VERDICTS))


def line(made: Generated, found: Judgement) -> str:
    numbers = f"{found.worst:9.3g} x allowed, {found.difference:9.3g} of {found.allowed:9.3g} K at {found.time:9.3g} s"
    said = f" | {found.said[0].splitlines()[-1][:150]}" if found.said and found.verdict != "within" else ""
    kinds = ", ".join(made.kinds)
    return f"{made.number:4d} {found.verdict:9} {numbers} {found.seconds:5.1f} s {found.integrator:8} {kinds}{said}"


if __name__ == "__main__":
    raise SystemExit(main())
