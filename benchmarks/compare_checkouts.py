"""Compare the stencil kernels of two checkouts: the same bits, and how fast each kernel is.

    python benchmarks/compare_checkouts.py ../before . --json kernels.json

First both checkouts run a scenario in one material and in three, in both precisions, by explicit steps: every array
that they write must be equal in all bits, or nothing is timed (exit code 1). Then `heatsim bench stencil` of both, on
the CPU or with --device cuda on a GPU, is run in turn, round after round, the order changing from round to round.
Reported is the median rate of each kernel, and the median of the rounds' ratios (second checkout over first), which
other load of the machine disturbs least. A ratio below --least makes the exit code 1.

Each checkout runs in processes of its own, found by PYTHONPATH. Needs only the standard library; the Python that runs
it (or --python) must have heatsim's dependencies. Linux only.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from process_tree import checkout_environment, commit_of, existing_checkout, machine_in_words, measure_tree, say

from heatsim.bench.rounds import doubt

SCENARIO = """
title = "Blocks"
time = { end = 40.0, integrator = "euler" }
grid = { cells = [67, 53, 45], size = [0.067, 0.053, 0.045] }
initial = { temperature = "300 + 50*sin(90*x)*cos(70*y) + 20*z/0.045" }
output = { snapshots = { count = 4 } }

[materials]
a = { conductivity = 1.0, density = 1000.0, heat_capacity = 1000.0 }
b = { conductivity = 5.0, density = 2000.0, heat_capacity = 800.0 }
c = { conductivity = 0.2, density = 500.0, heat_capacity = 1500.0 }

[boundary]
x_min = { kind = "fixed", temperature = 300.0 }
y_max = { kind = "convection", coefficient = 50.0, ambient = 280.0 }
z_min = { kind = "flux", flux = 1000.0 }
"""
ONE_MATERIAL = '\n[[regions]]\nmaterial = "a"\n'
THREE_MATERIALS = (
    ONE_MATERIAL
    + '\n[[regions]]\nmaterial = "b"\nwhere = "x > 0.03"\n'
    + '\n[[regions]]\nmaterial = "c"\nwhere = "y + z > 0.05"\n'
)
PRECISIONS = ("float32", "float64")
KERNEL_OF_FIELDS = {"cpu": "cpu", "cuda": "register"}  # by which the fields are computed that are compared

# A digest of every array in the HDF5 files of a run folder, told by the Python that has h5py.
DIGESTS = """
import hashlib, json, pathlib, sys
import h5py
found = {}
def add(name, item):
    if isinstance(item, h5py.Dataset):
        values = item[()]
        bits = values.tobytes() if hasattr(values, "tobytes") else repr(values).encode()
        found[f"{path.relative_to(sys.argv[1])}:{name}"] = hashlib.sha256(bits).hexdigest()
for path in sorted(pathlib.Path(sys.argv[1]).rglob("*.h5")):
    if path.name.startswith("checkpoint"):
        continue  # is no result
    with h5py.File(path) as file:
        file.visititems(add)
print(json.dumps(found))
"""

Rates = dict[tuple[str, str, int], float]  # kernel, precision, materials: cells a second


def main() -> int:
    """Compare; exit code 1 if bits differ or a kernel is too slow."""
    options = _options()
    about = machine_in_words()
    with tempfile.TemporaryDirectory(prefix="heatsim-compare-") as name:
        differing = _differing_fields(options, Path(name))
        if differing:
            print("The fields differ, so nothing was timed:\n" + "\n".join(differing))
            return 1
        rounds = [_round(options, number, Path(name)) for number in range(options.rounds)]
    rows = _rows(rounds, options.seconds)
    first, second = (f"{path.name} ({commit_of(path) or 'no commit'})" for path in options.checkouts)
    print(f"{about}; {options.size} cells an axis, {options.rounds} rounds; all fields are equal in bits\n")
    print(_table(rows, first, second))
    if options.json:
        document = {"machine": about, "checkouts": [first, second], "size": options.size, "rows": rows}
        options.json.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    return 1 if any(row["ratio"] < options.least for row in rows if not row["copy"]) else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkouts", nargs=2, type=existing_checkout, metavar="CHECKOUT", help="before and after")
    parser.add_argument(
        "--device", choices=sorted(KERNEL_OF_FIELDS), default="cpu", help="where to compute (default cpu)"
    )
    parser.add_argument("--kernel", action="append", default=[], help="a kernel to time, may be repeated [all]")
    parser.add_argument("--size", default="256", help="cells an axis (default 256)")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each benchmark (default 5)")
    parser.add_argument("--seconds", type=float, default=1.2, help="time for one measurement (default 1.2)")
    parser.add_argument("--least", type=float, default=0.0, help="the smallest ratio that is no failure (default 0)")
    parser.add_argument("--python", default=sys.executable, help="the Python that runs heatsim (default: this one)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all numbers here as well")
    return parser.parse_args()


def _differing_fields(options: argparse.Namespace, folder: Path) -> list[str]:
    """The arrays that are not equal in both checkouts."""
    found = []
    for materials, regions in ((1, ONE_MATERIAL), (3, THREE_MATERIALS)):
        scenario = folder / f"materials_{materials}.toml"
        scenario.write_text(SCENARIO + regions, encoding="utf-8")
        for precision in PRECISIONS:
            first, second = (_digests(options, path, scenario, precision, folder) for path in options.checkouts)
            if not first:
                sys.exit("the run wrote no arrays")
            names = [name for name in first | second if first.get(name) != second.get(name)]
            found += [f"{scenario.stem}, {precision}: {name}" for name in names]
            say(f"{scenario.stem}, {precision}: {len(names)} of {len(first)} arrays differ")
    return found


def _digests(
    options: argparse.Namespace, checkout: Path, scenario: Path, precision: str, folder: Path
) -> dict[str, str]:
    out = folder / "out"
    arguments = ["run", str(scenario), "--device", options.device, "--kernel", KERNEL_OF_FIELDS[options.device]]
    arguments += ["--output", str(out), "--force", "--set", f"compute.precision={precision}"]
    _heatsim(options.python, checkout, arguments, folder)
    told = subprocess.run([options.python, "-c", DIGESTS, str(out)], capture_output=True, text=True, check=True)
    return json.loads(told.stdout)


def _round(options: argparse.Namespace, number: int, folder: Path) -> tuple[Rates, Rates]:
    """The rates of both checkouts; the second one goes first in every other round."""
    found: dict[int, Rates] = {}
    for side in (1, 0) if number % 2 else (0, 1):
        checkout = options.checkouts[side]
        say(f"round {number + 1} of {options.rounds}: {checkout}")
        found[side] = _rates(options, checkout, folder)
    return found[0], found[1]


def _rates(options: argparse.Namespace, checkout: Path, folder: Path) -> Rates:
    file = folder / "found.json"
    arguments = ["bench", "stencil", "--device", options.device, "--size", options.size, "--precision", "both"]
    arguments += [part for kernel in options.kernel for part in ("--kernel", kernel)]
    arguments += ["--materials", "1", "--materials", "3", "--seconds", str(options.seconds), "--json", str(file)]
    _heatsim(options.python, checkout, arguments, folder)
    rows = json.loads(file.read_text(encoding="utf-8"))["rows"]
    return {(row["kernel"], row["precision"], row["materials"]): row["cells_per_second"] for row in rows}


def _heatsim(python: str, checkout: Path, arguments: list[str], folder: Path) -> None:
    """Run a command of a checkout; ends the program with its output if it fails."""
    cost = measure_tree([python, "-m", "heatsim", *arguments], checkout_environment(checkout), folder)
    if cost.exit_code:
        sys.exit(f"{checkout}: heatsim {' '.join(arguments)} ended with {cost.exit_code}:\n{cost.output[-2000:]}")


def _doubt(rates: list[float], seconds: float) -> str:
    """Why no ratio is made of rates that were measured for so many seconds each, or ""."""
    return doubt([seconds * max(rates) / rate for rate in rates])


def _rows(rounds: list[tuple[Rates, Rates]], seconds: float) -> list[dict]:
    """A row for each kernel that both checkouts have."""
    rows = []
    for key in rounds[0][0]:
        if key not in rounds[0][1]:
            say(f"{', '.join(map(str, key))}: only in the first checkout")
            continue
        ratios = [second[key] / first[key] for first, second in rounds]
        rates = [median(each[side][key] for each in rounds) for side in (0, 1)]
        kernel, precision, materials = key
        rows.append(
            {
                "kernel": kernel,
                "precision": precision,
                "materials": materials,
                "copy": kernel.startswith("copy"),
                "cells_per_second": rates,
                "ratios": ratios,
                "ratio": median(ratios),
                "doubt": _doubt([each[0][key] for each in rounds], seconds)
                or _doubt([each[1][key] for each in rounds], seconds),
            }
        )
    return rows


def _table(rows: list[dict], first: str, second: str) -> str:
    lines = [
        f"| kernel | precision | materials | {first}, G cells/s | {second}, G cells/s | ratio | of the rounds |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        before, after = (rate / 1e9 for rate in row["cells_per_second"])
        spread = f"{min(row['ratios']):.2f} to {max(row['ratios']):.2f}"
        lines.append(
            f"| {row['kernel']} | {row['precision']} | {row['materials']} | {before:.2f} | {after:.2f} "
            + (f"| no ratio: {row['doubt']} | |" if row["doubt"] else f"| {row['ratio']:.3f} | {spread} |")
        )
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
