"""Compare the memory that heatsim says a run takes with the peak that it takes.

    python benchmarks/measure_memory.py --size 200

Each problem runs twice, in processes of their own: the first compiles, and of the second the peak of resident memory
(VmHWM of Linux) is read. The estimate is that of `heatsim run --dry-run`. Exit code 1 if one is
off by more than --most. Linux only; needs heatsim.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

SCENARIO = """
[grid]
cells = {cells}
size = [0.1, 0.1, 0.1]
[time]
end = {end}
integrator = "{integrator}"
[compute]
device = "cpu"
precision = "{precision}"
[materials.a]
conductivity = {conductivity}
density = 8960.0
heat_capacity = 385.0
[materials.b]
conductivity = 15.0
density = 7900.0
heat_capacity = 500.0
[[regions]]
material = "a"
{more}
[initial]
temperature = "300 + 50*sin(100*x)*cos(77*y)*exp(-20*z) + 5*sin(1e9*x*y)"
[boundary]
x_min = {{ kind = "fixed", temperature = 300.0 }}
[output]
snapshots = {{ count = 2 }}
{output}
"""
SPHERE = '[[regions]]\nmaterial = "b"\nsphere = { center = [0.05, 0.05, 0.05], radius = 0.03 }\n'
BALL = (
    "[[sources]]\npower = 20.0\nregion = { sphere = { center = [0.05, 0.05, 0.05], radius = 0.02 } }\n"
    "[[sources]]\npower_density = '1e6*exp(-200*x)*(1 + sin(t))'\n"
)
RADIATION = '[boundary.x_max]\nkind = "radiation"\nemissivity = 0.9\nambient = 250.0\n'
# name: integrator, precision, end, conductivity, more, output
PROBLEMS = {
    "one material": ("euler", "float32", 0.001, 398.0, "", ""),
    "one material, float64": ("euler", "float64", 0.001, 398.0, "", ""),
    "two materials, sources": ("euler", "float32", 0.001, 398.0, SPHERE + BALL, ""),
    "k(T)": ("euler", "float32", 0.001, '"398 - 0.06*T"', SPHERE, ""),
    "rkl2": ("rkl2", "float32", 0.01, 398.0, SPHERE, ""),
    "implicit": ("implicit", "float32", 0.1, 398.0, SPHERE, ""),
    "implicit, float64": ("implicit", "float64", 0.1, 398.0, SPHERE, ""),
    "implicit, k(T)": ("implicit", "float32", 0.1, '"398 - 0.06*T"', SPHERE, ""),
    "implicit, radiation": ("implicit", "float32", 0.1, 398.0, SPHERE + RADIATION, ""),
    "implicit, radiation, float64": ("implicit", "float64", 0.1, 398.0, SPHERE + RADIATION, ""),
    "implicit, k(T), float64": ("implicit", "float64", 0.1, '"398 - 0.06*T"', SPHERE, ""),
    "steady, k(T)": ("steady", "float32", None, '"398 - 0.06*T"', SPHERE, ""),
    "steady, float64": ("steady", "float64", None, 398.0, SPHERE, ""),
    "steady": ("steady", "float32", None, 398.0, SPHERE, ""),
    "peaks and times above": (
        "euler", "float32", 0.001, 398.0, SPHERE, 'fields = ["peak_temperature", "time_above"]\ntime_above = 320.0\n',
    ),
    "heat flux": ("euler", "float32", 0.001, 398.0, SPHERE, 'fields = ["heat_flux"]\n'),
}  # fmt: skip
RUN = """
import json
from pathlib import Path
from heatsim.cli.main import main
from heatsim.problem import build_problem
from heatsim.scenario import load
from heatsim.simulation.memory_estimate import run_bytes
main(["run", "case.toml", "--quiet", "--force"], standalone_mode=False)
lines = Path("/proc/self/status").read_text().splitlines()
found = {line.partition(":")[0]: 1024 * int(line.split()[1]) for line in lines if line.startswith(("VmHWM", "RssFile"))}
print(json.dumps({**found, "estimate": run_bytes(build_problem(load(Path("case.toml"))))}))
"""


def main() -> int:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=200, help="cells an axis")
    parser.add_argument("--most", type=float, default=0.1, help="deviation of the estimate that is allowed")
    parser.add_argument("names", nargs="*", help="problems, or parts of their names [all]")
    options = parser.parse_args()
    chosen = [name for name in PROBLEMS if not options.names or any(part in name for part in options.names)]
    print(f"| {options.size}^3 cells | estimate MB | peak MB | estimate / peak |\n|---|---|---|---|")
    worst = 0.0
    for name in chosen:
        with tempfile.TemporaryDirectory() as folder:
            for _ in range(2):
                found = measure(Path(folder), name, options.size)
        ratio = found["estimate"] / found["VmHWM"]
        worst = max(worst, abs(ratio - 1.0))
        print(f"| {name} | {found['estimate'] / 1e6:.0f} | {found['VmHWM'] / 1e6:.0f} | {ratio:.2f} |", flush=True)
    return 1 if worst > options.most else 0


def measure(folder: Path, name: str, size: int) -> dict[str, float]:
    """Run a problem in a process of its own; bytes of its estimate and of its peak."""
    integrator, precision, end, conductivity, more, output = PROBLEMS[name]
    text = SCENARIO.format(
        cells=[size] * 3,
        integrator=integrator,
        precision=precision,
        end=end or 1.0,
        conductivity=conductivity,
        more=more,
        output=output,
    )
    if end is None:
        text = text.replace("end = 1.0\n", "").replace("snapshots = { count = 2 }", "")
    (folder / "case.toml").write_text(text)
    done = subprocess.run([sys.executable, "-c", RUN], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{name}: {done.stderr}")
    return dict(json.loads(done.stdout))


if __name__ == "__main__":
    sys.exit(main())
