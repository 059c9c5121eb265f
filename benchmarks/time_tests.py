"""Time `make test` from a fresh clone in a temporary folder, environment included, part by part.

    python benchmarks/time_tests.py --json tests.json

Clones what is committed in the checkout (--checkout, may be repeated; this one unless named), asks `make -n test` for
the commands, runs them one by one in the clone, and stops at the first that fails. Parts: the environment (venv and
pip), lint (ruff), mypy and pytest, with the items that pytest collected, passed and skipped. Wall minutes, and CPU
minutes of all processes started. The caches of kernels and of pip are empty folders; --keep-pip-cache leaves the
latter as it is, so that nothing is downloaded twice. Needs only the standard library, git and make. Linux only.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass, field
from pathlib import Path

from process_tree import commit_of, existing_checkout, machine_in_words, measure_tree, say

PARTS = {"pytest": "pytest", "mypy": "mypy", "ruff": "lint"}  # a word of the command -> the part that it belongs to
COUNTED = re.compile(r"(\d+) (passed|skipped|failed|errors?|xfailed|xpassed)\b")


@dataclass
class PartTimes:
    """Seconds of each part, wall and CPU; items by outcome; and the command that failed, if one did."""

    checkout: str
    wall: dict[str, float] = field(default_factory=dict)
    cpu: dict[str, float] = field(default_factory=dict)
    items: dict[str, int] = field(default_factory=dict)
    failed: str = ""


def main() -> int:
    """Measure, and print a Markdown table; exit code 1 if a command failed."""
    options = _options()
    about = machine_in_words()
    found = [_time(checkout, options.python, options.keep_pip_cache) for checkout in options.checkout]
    print(f"{about}\n\n{_table(found)}")
    for times in found:
        if times.failed:
            print(f"\n{times.checkout}: FAILED: {times.failed}")
    if options.json:
        document = {"machine": about, "checkouts": [asdict(times) for times in found]}
        options.json.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    return 1 if any(times.failed for times in found) else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--checkout", type=existing_checkout, action="append", help="a checkout of heatsim, may be repeated [this one]"
    )
    parser.add_argument("--python", default=sys.executable, help="what makes the environment (default: this one)")
    parser.add_argument("--keep-pip-cache", action="store_true", help="let pip use the cache that it has")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all numbers here as well")
    options = parser.parse_args()
    options.checkout = options.checkout or [Path(__file__).resolve().parents[1]]
    return options


def _time(checkout: Path, python: str, keep_pip_cache: bool) -> PartTimes:
    times = PartTimes(f"{checkout.name} ({commit_of(checkout)})")
    with tempfile.TemporaryDirectory(prefix="heatsim-tests-") as name:
        clone, cache = Path(name) / "heatsim", Path(name) / "cache"
        subprocess.run(["git", "clone", "--quiet", "--no-hardlinks", str(checkout), str(clone)], check=True)
        environment = _environment(cache, keep_pip_cache)
        for command in _commands(clone, python, environment):
            part = _part(command)
            cost = measure_tree(["sh", "-c", command], environment, clone)
            times.wall[part] = times.wall.get(part, 0.0) + cost.wall
            times.cpu[part] = times.cpu.get(part, 0.0) + cost.cpu
            say(f"{times.checkout}, {part}: {cost.wall:.1f} s wall, {cost.cpu:.1f} s CPU: {command}")
            if part == "pytest":
                times.items = _items(cost.output)
            if cost.exit_code:
                say(cost.output[-4000:])
                times.failed = f"{command} (exit code {cost.exit_code})"
                break
    return times


def _environment(cache: Path, keep_pip_cache: bool) -> dict[str, str]:
    """This environment with empty caches, and without what would let the clone see another heatsim."""
    unwanted = ("PYTHONPATH", "MYPYPATH", "NUMBA_CACHE_DIR", "VIRTUAL_ENV", "MAKEFLAGS")
    found = {name: value for name, value in os.environ.items() if name not in unwanted}
    found |= {"XDG_CACHE_HOME": str(cache), "CUDA_CACHE_PATH": str(cache / "cuda")}
    if keep_pip_cache:
        asked = [sys.executable, "-m", "pip", "cache", "dir"]
        found["PIP_CACHE_DIR"] = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    return found


def _commands(clone: Path, python: str, environment: dict[str, str]) -> list[str]:
    """What `make test` would run, in its order."""
    command = ["make", "--dry-run", "test", f"PYTHON={python}"]
    told = subprocess.run(command, cwd=clone, env=environment, capture_output=True, text=True, check=True).stdout
    lines = told.replace("\\\n", " ").splitlines()
    return [line for line in lines if not re.match(r"make\b", line)]  # a recursive make prints its recipes as well


def _part(command: str) -> str:
    """The part that a command belongs to; what only installs these tools belongs to the environment."""
    program = next((Path(word).name for word in command.split() if "=" not in word), "")
    if "pip" in command.split():
        return "environment"
    called = [program, *re.findall(r"-m (\w+)", command)]
    return next((part for word, part in PARTS.items() if word in called), "environment")


def _items(output: str) -> dict[str, int]:
    """Items by outcome, from the last line of pytest's that counts them, and their sum."""
    lines = [COUNTED.findall(line) for line in output.splitlines() if " in " in line]
    counts = next((found for found in reversed(lines) if found), [])
    found = {outcome: int(number) for number, outcome in counts}
    return {"collected": sum(found.values()), **found}


def _table(found: list[PartTimes]) -> str:
    """Markdown, in minutes."""
    parts = ["environment", "lint", "mypy", "pytest"]
    lines = [
        f"| checkout | minutes | {' | '.join(parts)} | `make test` | items collected | passed | skipped |",
        "|---" * (len(parts) + 6) + "|",
    ]
    for times in found:
        items = " | ".join(str(times.items.get(key, 0)) for key in ("collected", "passed", "skipped"))
        for what, seconds in (("wall", times.wall), ("CPU", times.cpu)):
            cells = [f"{seconds.get(part, 0.0) / 60:.2f}" for part in parts]
            total = f"{sum(seconds.values()) / 60:.2f}"
            lines.append(f"| {times.checkout} | {what} | {' | '.join(cells)} | {total} | {items} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
