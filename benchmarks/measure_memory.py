"""Compare the memory that heatsim says a run takes with the peak that it takes.

    python benchmarks/measure_memory.py --size 200

Each problem runs twice, in processes of their own: the first compiles, and of the second the peak of resident memory
(VmHWM of Linux) is read. The estimate is that of `heatsim run --dry-run`. Exit code 1 if one is off by more than
--most.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import script

from heatsim.base.tables import Row, TableColumn, number
from heatsim.studies.bench.harness import chosen

SCENARIO = """
grid = {{ cells = {cells}, size = [0.1, 0.1, 0.1] }}
time = {{ integrator = "{integrator}"{end} }}
compute = {{ device = "cpu", precision = "{precision}" }}
materials.a = {{ conductivity = {conductivity}, density = 8960.0, heat_capacity = 385.0 }}
materials.b = {{ conductivity = 15.0, density = 7900.0, heat_capacity = 500.0 }}
initial = {{ temperature = "300 + 50*sin(100*x)*cos(77*y)*exp(-20*z) + 5*sin(1e9*x*y)" }}
boundary.x_min = {{ kind = "fixed", temperature = 300.0 }}
regions = [{{ material = "a" }}{sphere}]
{more}
"""
SPHERE = ', { material = "b", sphere = { center = [0.05, 0.05, 0.05], radius = 0.03 } }'
BALL = (
    "[[sources]]\npower = 20.0\nregion = { sphere = { center = [0.05, 0.05, 0.05], radius = 0.02 } }\n"
    "[[sources]]\npower_density = '1e6*exp(-200*x)*(1 + sin(t))'\n"
)
RADIATION = 'boundary.x_max = { kind = "radiation", emissivity = 0.9, ambient = 250.0 }\n'
PEAKS = 'output.fields = ["peak_temperature", "time_above"]\noutput.time_above = 320.0\n'
K_OF_T = '"398 - 0.06*T"'
# name: integrator, precision, end, conductivity, other material, more
PROBLEMS = {
    "one material": ("euler", "float32", 0.001, 398.0, "", ""),
    "one material, float64": ("euler", "float64", 0.001, 398.0, "", ""),
    "two materials, sources": ("euler", "float32", 0.001, 398.0, SPHERE, BALL),
    "k(T)": ("euler", "float32", 0.001, K_OF_T, SPHERE, ""),
    "rkl2": ("rkl2", "float32", 0.01, 398.0, SPHERE, ""),
    "implicit": ("implicit", "float32", 0.1, 398.0, SPHERE, ""),
    "implicit, float64": ("implicit", "float64", 0.1, 398.0, SPHERE, ""),
    "implicit, k(T)": ("implicit", "float32", 0.1, K_OF_T, SPHERE, ""),
    "implicit, radiation": ("implicit", "float32", 0.1, 398.0, SPHERE, RADIATION),
    "implicit, radiation, float64": ("implicit", "float64", 0.1, 398.0, SPHERE, RADIATION),
    "implicit, k(T), float64": ("implicit", "float64", 0.1, K_OF_T, SPHERE, ""),
    "steady, k(T)": ("steady", "float32", None, K_OF_T, SPHERE, ""),
    "steady, float64": ("steady", "float64", None, 398.0, SPHERE, ""),
    "steady": ("steady", "float32", None, 398.0, SPHERE, ""),
    "peaks and times above": ("euler", "float32", 0.001, 398.0, SPHERE, PEAKS),
    "heat flux": ("euler", "float32", 0.001, 398.0, SPHERE, 'output.fields = ["heat_flux"]\n'),
}
RUN = """
import json
from pathlib import Path
from heatsim.cli.main import main
from heatsim.problem import build_problem
from heatsim.scenario import load
from heatsim.simulation.estimates import run_bytes
main(["run", "case.toml", "--quiet", "--force"], standalone_mode=False)
lines = Path("/proc/self/status").read_text().splitlines()
peak = next(1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
print(json.dumps({"peak": peak, "estimate": run_bytes(build_problem(load(Path("case.toml"))))}))
"""
COLUMNS = (
    TableColumn("problem", lambda row: row["name"]),
    TableColumn("estimate MB", number("estimate", ".0f", 1e6)),
    TableColumn("peak MB", number("peak", ".0f", 1e6)),
    TableColumn("estimate / peak", number("ratio", ".2f")),
)


def text_of(name: str, size: int) -> str:
    """The scenario of a problem."""
    integrator, precision, end, conductivity, sphere, more = PROBLEMS[name]
    return SCENARIO.format(
        cells=[size] * 3,
        integrator=integrator,
        precision=precision,
        end="" if end is None else f", end = {end}",
        conductivity=conductivity,
        sphere=sphere,
        more=more if end is None else "output.snapshots = { count = 2 }\n" + more,
    )


def measure(name: str, size: int, most: float) -> Row:
    """Run a problem twice; bytes of its estimate and of its peak."""
    row: Row = {"name": name}
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "case.toml").write_text(text_of(name, size))
        for _ in range(2):
            done = subprocess.run([sys.executable, "-c", RUN], cwd=folder, capture_output=True, text=True, check=False)
            if done.returncode:
                return row | {"failed": done.stderr.strip()}
    row |= json.loads(done.stdout)
    row["ratio"] = row["estimate"] / row["peak"]
    return row | ({"failed": f"off by more than {most:.0%}"} if abs(row["ratio"] - 1.0) > most else {})


def main() -> int:
    """Measure each problem."""
    parser = script.options(__doc__, size=200, problem=PROBLEMS)
    parser.add_argument("--most", type=float, default=0.1, help="deviation of the estimate that is allowed [0.1]")
    given = parser.parse_args()
    rows = [measure(name, given.size, given.most) for name in chosen(given.problem, PROBLEMS)]
    return script.finish(given, COLUMNS, rows, [f"{given.size}^3 cells"])


if __name__ == "__main__":
    sys.exit(main())
