"""Time `heatsim run` from an empty kernel cache, and again with the kernels in it, in one or several checkouts.

    python benchmarks/time_first_run.py --checkout ../before --checkout . --json first_run.json

Three small scenarios: the quick start; a hot pipe in insulation, solved for its steady state; and the laser scan,
shorter and coarser than the one shipped, with a conductivity that depends on temperature. Wall seconds are those until
the command ends; CPU seconds are those of all processes that it started. Rounds are interleaved (checkout A cold, A
warm, B cold, B warm, A cold, ...), and medians are reported, so that other load of the machine affects all checkouts
alike.

Each cold run has a cache folder of its own (XDG_CACHE_HOME), and the warm runs after it use the same folder. Python's
byte code and matplotlib's list of fonts are made ready beforehand: they are no part of heatsim's kernel cache. Needs
only the standard library; the Python that runs it (or --python) must have heatsim's dependencies. Linux only.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from process_tree import (
    TreeCost,
    checkout_environment,
    commit_of,
    existing_checkout,
    machine_in_words,
    measure_tree,
    say,
)

from heatsim.bench.rounds import doubt

PIPE = """
title = "A hot pipe in insulation"
temperature_unit = "degC"
time = { integrator = "steady" }
initial = { temperature = 20.0 }
output = { snapshots = { count = 1 }, energy = { count = 1 }, slices = [{ axis = "y", at = 3.0, count = 1 }] }

[grid]
coordinates = "cylindrical"              # r, phi, z
cells = [30, 1, 12]
size = [0.035, 6.283185307179586, 0.5]   # m, rad, m
origin = [0.025, 0.0, 0.0]

[materials]
steel = { conductivity = 50.0, density = 7850.0, heat_capacity = 460.0 }
wool = { conductivity = 0.04, density = 100.0, heat_capacity = 800.0 }

[[regions]]
material = "wool"
[[regions]]
material = "steel"
where = "x < 0.03"

[boundary]
x_min = { kind = "convection", coefficient = 1000.0, ambient = 90.0 }
x_max = { kind = "convection", coefficient = 10.0, ambient = 20.0 }
"""
LASER_OVERRIDES = ['materials.titanium.conductivity="5.0 + 0.015*T"', "grid.cells=[60,30,10]", "time.end=0.2"]
SCENARIOS = ("quick start", "pipe, steady", "laser, k(T)")
CACHES = ("empty", "warm")


def main() -> None:
    """Measure, and print a Markdown table."""
    options = _options()
    labels = [f"{path.name} ({commit_of(path) or 'no commit'})" for path in options.checkout]
    about = machine_in_words()
    found: dict[tuple[str, str, str], list[TreeCost]] = {}
    with tempfile.TemporaryDirectory(prefix="heatsim-first-run-") as name:
        folder = Path(name)
        (folder / "pipe.toml").write_text(PIPE, encoding="utf-8")
        for checkout in options.checkout:
            _make_ready(options.python, checkout, folder)
        for number in range(options.rounds):
            for scenario in options.scenario:
                for label, checkout in zip(labels, options.checkout, strict=True):
                    for cache, cost in _cold_and_warm(options, scenario, checkout, folder):
                        found.setdefault((scenario, cache, label), []).append(cost)
                        say(f"round {number + 1}, {scenario}, {cache}, {label}: {_in_words(cost)}")
    print(f"{about}; medians of {options.rounds} interleaved rounds, least to most in brackets\n")
    print(_table(found, labels))
    if options.json:
        options.json.write_text(json.dumps(_document(found, about), indent=2) + "\n", encoding="utf-8")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--checkout", type=existing_checkout, action="append", help="a checkout of heatsim, may be repeated [this one]"
    )
    parser.add_argument("--scenario", action="append", choices=SCENARIOS, help="may be repeated [all]")
    parser.add_argument("--rounds", type=int, default=3, help="cold runs of each (default 3)")
    parser.add_argument("--warm", type=int, default=2, help="warm runs after each cold one (default 2)")
    parser.add_argument("--python", default=sys.executable, help="the Python that runs heatsim (default: this one)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all numbers here as well")
    options = parser.parse_args()
    options.checkout = options.checkout or [Path(__file__).resolve().parents[1]]
    options.scenario = options.scenario or list(SCENARIOS)
    return options


def _make_ready(python: str, checkout: Path, folder: Path) -> None:
    """Write the byte code of a checkout, and the list of fonts that all runs share."""
    sources = [str(checkout / "heatsim"), str(checkout / "kernels")]
    subprocess.run([python, "-m", "compileall", "-q", *sources], check=True)
    fonts = _environment(checkout, folder, folder / "unused")
    subprocess.run([python, "-c", "import matplotlib.font_manager"], env=fonts, check=True)


def _environment(checkout: Path, folder: Path, cache: Path) -> dict[str, str]:
    found = checkout_environment(
        checkout,
        XDG_CACHE_HOME=str(cache),
        CUDA_CACHE_PATH=str(cache / "cuda"),
        MPLCONFIGDIR=str(folder / "matplotlib"),
    )
    found.pop("NUMBA_CACHE_DIR", None)
    return found


def _cold_and_warm(
    options: argparse.Namespace, scenario: str, checkout: Path, folder: Path
) -> list[tuple[str, TreeCost]]:
    """What the runs of a scenario took: the first with an empty cache, the others with what it left there."""
    command = [options.python, "-m", "heatsim", "run", *_arguments(scenario, checkout, folder), "--device", "cpu"]
    command += ["--output", str(folder / "out"), "--force"]
    found = []
    with tempfile.TemporaryDirectory(dir=folder) as cache:
        environment = _environment(checkout, folder, Path(cache))
        for number in range(1 + options.warm):
            cost = measure_tree(command, environment, folder)
            if cost.exit_code:
                sys.exit(f"{' '.join(command)} ended with {cost.exit_code}:\n{cost.output[-2000:]}")
            found.append((CACHES[number > 0], cost))
    return found


def _arguments(scenario: str, checkout: Path, folder: Path) -> list[str]:
    if scenario == "quick start":
        return [str(checkout / "scenarios" / "quick_start.toml")]
    if scenario == "pipe, steady":
        return [str(folder / "pipe.toml")]
    overrides = [word for each in LASER_OVERRIDES for word in ("--set", each)]
    return [str(checkout / "scenarios" / "laser_scan.toml"), *overrides]


def _in_words(cost: TreeCost) -> str:
    return f"{cost.wall:.2f} s wall, {cost.cpu:.2f} s CPU"


def _table(found: dict[tuple[str, str, str], list[TreeCost]], labels: list[str]) -> str:
    """Markdown; the last column is the CPU time over that of the first checkout."""
    lines = ["| scenario | kernel cache | checkout | wall s | CPU s | CPU of the first |", "|---|---|---|---|---|---|"]
    for (scenario, cache, label), costs in found.items():
        first = median(cost.cpu for cost in found[scenario, cache, labels[0]])
        wall, cpu = (_spread([getattr(cost, key) for cost in costs]) for key in ("wall", "cpu"))
        refused = any(doubt([cost.cpu for cost in each]) for each in (costs, found[scenario, cache, labels[0]]))
        ratio = "-" if refused else f"{median(cost.cpu for cost in costs) / first:.2f}"
        lines.append(f"| {scenario} | {cache} | {label} | {wall} | {cpu} | {ratio} |")
    return "\n".join([*lines[:2], *sorted(lines[2:], key=_position)])


def _position(line: str) -> tuple[int, int]:
    """Scenarios in their order, the empty cache first; checkouts keep their order, as sorting does."""
    cells = [cell.strip() for cell in line.split("|")]
    return SCENARIOS.index(cells[1]), CACHES.index(cells[2])


def _spread(values: list[float]) -> str:
    return f"{median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


def _document(found: dict[tuple[str, str, str], list[TreeCost]], about: str) -> dict[str, object]:
    rows = [
        {
            "scenario": scenario,
            "cache": cache,
            "checkout": label,
            "wall_seconds": [cost.wall for cost in costs],
            "cpu_seconds": [cost.cpu for cost in costs],
        }
        for (scenario, cache, label), costs in found.items()
    ]
    return {"machine": about, "rows": rows}


if __name__ == "__main__":
    main()
