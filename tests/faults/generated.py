"""Valid scenarios made at random of all keys: each is validated, dry-run and run for a few steps on the CPU.

`python -m faults.generated --count 500` (from tests/) prints the counts, and the keys that no scenario had. What a
scenario asks for may not go together; it is then refused in one message, and counted apart.
"""

from __future__ import annotations

import random
import tempfile
import tomllib
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w
from click.testing import CliRunner

import heatsim
from faults.kills import numbers_asked_for, report
from faults.test_resumed_runs import stop_after
from heatsim.base.quantity import Quantity
from heatsim.cli.main import main
from heatsim.errors import HeatsimError, ScenarioError
from heatsim.problem import build_problem
from heatsim.scenario.quantity import in_keys_of_quantity
from heatsim.scenario.reference.schema import json_schema
from heatsim.simulation.run import run_scenario

KINDS = "run", "refused", "tracebacks", "ended by an error", "dry runs that failed", "ledgers left open"
MAX_RESIDUAL = {"float64": 1e-8, "float32": 2e-3}  # of the ledger, relative
OFFSET = 60.0  # K from the reference, that temperatures of these scenarios have, about
ROUNDINGS = 1e4  # of the heat of a kelvin, which may be all that moves in a body of one temperature
MOST_BATCHES = 15  # of steps, after which a run is stopped
SIZE = (0.06, 0.04, 0.02)
Table = dict[str, Any]
VOID: Table = {"conductivity": 0}
SOLIDS: list[Table] = [
    {"sphere": {"center": [0.03, 0.02, 0.01], "radius": 0.012}},
    {"cylinder": {"start": [0.03, 0.02, 0.0], "end": [0.03, 0.02, 0.02], "radius": 0.01}},
    {"polygon": {"axis": "z", "points": [[0, 0], [0.03, 0], [0.02, 0.03]], "from": 0.0, "to": 0.012}},
    {"labelled": {"file": "labels.npy", "labels": [1]}},
]


class Scenario:
    """A scenario in the making: `chance` decides, `document` is what has been decided."""

    def __init__(self, chance: random.Random) -> None:
        self.chance, self.document = chance, Table()
        self.unit = chance.choice(["K", "degC"])
        self.cylindrical = chance.random() < 0.1
        self.steady = chance.random() < 0.12
        self.end = chance.choice([0.02, 0.3, 4.0])
        # One that may have expressions in t.
        self.timed = not self.steady

    def some(self, share: float = 0.5) -> bool:
        return self.chance.random() < share

    def one(self, *values: Any) -> Any:
        return self.chance.choice(values)

    def warm(self, rise: float) -> float | str:
        """A temperature, as a number or with a unit."""
        value = rise + (293.15 if self.unit == "K" else 20.0)
        return f"{rise + 20.0:g} degC" if self.some(0.15) else value

    def following(self, value: float, names: str) -> float | str:
        """A number, or an expression that stays about it."""
        parts = {"t": f"(1 + 0.3*sin({6.3 / self.end:.6g}*t))", "x": "(1 + 5*x)", "T": "(1 + 1e-4*T)"}
        chosen = [parts[name] for name in names if name in parts and self.some(0.25) and (name != "t" or self.timed)]
        return "*".join([repr(value), *chosen]) if chosen else value

    def shape(self) -> Table:
        """A part of the box."""
        return self.one(  # type: ignore[no-any-return]
            {"box": {"lower": [0.0, 0.0, 0.0], "upper": [0.02, 0.04, 0.01]}},
            {"where": "x > 0.03 and z < 0.015"},
            *([] if self.cylindrical else SOLIDS),
        )

    def schedule(self) -> Table:
        if self.steady:
            return {"count": 1}
        return self.one(  # type: ignore[no-any-return]
            {"every": self.end / 3},
            {"count": 2},
            {"times": {"from": self.end / 10, "to": self.end, "per_decade": 3}},
            {"times": [self.end / 2, self.end], "after": self.end / 9},
        )

    def material(self) -> Table | str:
        if self.some(0.15):
            return self.one("copper", {"name": "aluminium", "at": "60 degC"})  # type: ignore[no-any-return]
        k = self.one(0.3, 15.0, 200.0)
        conductivity: Any = self.one(k, k, self.following(k, "T"), [k, k, k / 3])
        if self.some(0.1):
            conductivity = {"T": [250.0, 400.0, 900.0], "value": [k, 1.3 * k, k]}
        found = {"conductivity": conductivity, "density": 2000.0, "heat_capacity": self.following(800.0, "T")}
        if self.some(0.1):
            base = 293.15 if self.unit == "K" else 20.0
            found["latent"] = {"heat": 2e4, "solidus": base + 8.0, "liquidus": base + self.one(8.0, 14.0)}
        return found

    def face(self, patched: bool = True) -> Table:
        found: Table = self.one(
            {"kind": "insulated"},
            {"kind": "fixed", "temperature": self.timed_value(10.0)},
            {"kind": "flux", "flux": self.following(500.0, "tx")},
            {"kind": "convection", "coefficient": self.following(20.0, "txT"), "ambient": self.warm(-5.0)},
            {"kind": "convection", "coefficient": 9.0, "emissivity": 0.8, "ambient": self.warm(2.0)},
            {"kind": "radiation", "emissivity": self.following(0.7, "x"), "ambient": self.warm(100.0)},
        )
        if patched and self.some(0.15):
            found["patches"] = [self.face(patched=False) | {"where": self.one("x < 0.03", "z > 0.01 or y < 0.02")}]
        return found

    def timed_value(self, rise: float) -> Any:
        """A temperature that may depend on time, by an expression or a file."""
        if self.timed and self.some(0.2):
            return {"file": "weather.csv", "column": "air"}
        base = self.warm(rise)
        varies = self.timed and self.some(0.3) and not isinstance(base, str)
        return f"{base} + 3*sin({6.3 / self.end:.6g}*t)" if varies else base

    def source(self, materials: list[str]) -> Table:
        if self.timed and not self.cylindrical and self.some(0.15):
            shape = {"kind": "gaussian", "radius": 0.005, "depth": 0.004, "absorptivity": 0.5}
            if self.some():
                shape = {"kind": "goldak", "a": 0.004, "b": 0.004, "cf": 0.004, "cr": 0.008, "efficiency": 0.7}
                shape |= self.one({}, {"ff": 0.7}, {"fr": 1.4})
            return {"beam": {**shape, "power": self.following(20.0, "t"), "path": "scan.csv"}}
        base = 293.15 if self.unit == "K" else 20.0
        amount: Table = self.one(
            {"power": self.following(3.0, "tx")},
            {"power_density": self.following(2e5, "tx")},
            {"power_density": f"3e3*({base + 30.0} - T)"},
            {"perfusion": {"coefficient": self.following(2000.0, "tx"), "temperature": self.warm(17.0)}},
            {"trace": "power.csv"} if self.timed else {"power": 2.0},
        )
        place = self.one({}, {"region": self.shape()}, {"material": self.chance.choice(materials)})
        return {**amount, **place}

    def grid(self) -> Table:
        nx, ny, nz = self.one((8, 6, 4), (12, 5, 3), (16, 1, 4), (9, 1, 1))
        if self.cylindrical:
            size = [0.06, 2 * np.pi, 0.02]
            return {"cells": [nx, 1, nz], "size": size, "coordinates": "cylindrical", "origin": [0.01, 0.0, 0.0]}
        found: Table = {"cells": [nx, ny, nz], "size": list(self.one(SIZE, ("60 mm", "4 cm", 0.02)))}
        if self.some(0.15):
            found = {"cells": [nx, ny, nz], "size": list(SIZE)} | {"origin": [0.0, 0.0, 0.0]}
        if self.some(0.15):
            edges = (0.06 * np.linspace(0.0, 1.0, nx + 1) ** 1.3).tolist()
            layers = [{"thickness": 0.02, "cells": 3}, {"thickness": 0.04, "cells": 5}]
            found = {
                "x": self.one({"edges": edges}, {"layers": layers}),
                "y": {"layers": [{"thickness": 0.04, "cells": ny}]},
                "z": {"layers": [{"thickness": 0.02, "cells": nz}]},
            }
        return found

    def time(self) -> Table:
        if self.steady:
            return {"integrator": "steady"} | ({"tolerance": 1e-6} if self.some() else {})
        found: Table = {"end": self.one(self.end, f"{self.end} s")}
        integrator = self.one("auto", "euler", "rkl2", "implicit")
        if self.some(0.8):
            found["integrator"] = integrator
        if integrator == "implicit" and self.some(0.3):
            found["method"] = self.one("tr-bdf2", "backward-euler")
        if self.some(0.06):
            found["periodic"] = self.end / 2
        if integrator in ("rkl2", "implicit"):
            found |= self.one({}, {"tolerance": 1e-3}, {"step": self.end / 8})
        return found

    def output(self, materials: list[str]) -> Table:
        melts = any("latent" in each for each in self.document["materials"].values())
        fields = ["heat_flux", "gradient"] + (["melted_fraction"] if melts else [])
        if not self.steady:
            fields += ["peak_temperature", "time_above", "cooling_rate"]
        chosen = [name for name in fields if self.some(0.2)]
        found: Table = {"snapshots": self.schedule(), "energy": self.schedule()}
        if chosen:
            found["fields"] = chosen
        if "time_above" in chosen:
            found["time_above"] = self.warm(5.0)
        if "cooling_rate" in chosen:
            found["cooling_through"] = self.warm(5.0)
        if self.some(0.15):
            found["slices"] = [{"axis": "z", "at": 0.01, "name": "middle", **self.schedule()}]
        if self.some(0.3):
            found["probes"] = [
                {"name": "inside", "at": [0.03, 0.02, 0.01], **self.schedule()},
                {"name": "at a face", "at": [0.06, 0.02, 0.01], **self.schedule()},
            ]
        if self.some(0.3):
            found["regions"] = [
                {"name": "part", **self.one(self.shape(), {"material": self.one(*materials)}), **self.schedule()}
            ]
        if self.some(0.3):
            found["results"] = [{"name": "hottest", "of": self.one("max(T)", f"mean(T, '{materials[0]}')")}]
            if not self.steady and self.some():
                found["results"][0] |= self.one({"over": "time"}, {"at": self.end / 2})
        if not self.steady and self.some(0.1):
            found["melt_pool"] = {"temperature": self.warm(10.0), "along": "x", **self.schedule()}
        if not self.steady and self.some(0.1):
            found["checkpoint"] = {"every_minutes": 10.0}
        if self.some(0.1):
            found["pictures"] = {"theme": self.one("light", "dark"), "range": [0.0, 100.0], "levels": [40.0]}
            if self.some(0.3):
                found["pictures"]["movie"] = "gif"
            found["pictures"] |= {"format": self.one("png", "svg"), "contours": True, "overview": self.some(0.3)}
        return found

    def boundary(self) -> Table:
        names = ["x_min", "x_max", "z_min", "z_max"] + ([] if self.cylindrical else ["y_min", "y_max"])
        found = {name: self.face() for name in names if self.some(0.4)}
        if not self.cylindrical and self.some(0.1):
            found |= {"y_min": {"kind": "periodic"}, "y_max": {"kind": "periodic"}}
        if self.some(0.2):
            found["default"] = self.face(patched=False)
        return found

    def make(self) -> str:
        """The text of the scenario."""
        document = self.document
        names = ["body"] + (["insert"] if self.some() else [])
        document |= {"title": "Made at random", "temperature_unit": self.unit, "grid": self.grid(), "time": self.time()}
        document["compute"] = {"device": "cpu", "precision": self.one("float32", "float64"), "kernel": "auto"}
        document["materials"] = {name: self.material() for name in names}
        regions: list[Table] = [{"material": "body"}]
        if "insert" in names:
            place = self.shape()
            if self.some(0.1):
                place = {"labels": {"file": "labels.npy", "map": {"0": "body", "1": "insert"}}}  # in place of both
            regions.append(place if "labels" in place else {"material": "insert", **place})
            if self.some(0.2) and "labels" not in place:
                regions[-1]["initial"] = self.warm(30.0)
            if self.some(0.2):
                document["contacts"] = [{"between": names, "resistance": self.following(1e-3, "tT")}]
        if not self.cylindrical and self.some(0.2):  # an ambient stands at a corner
            film: Table = self.one({"coefficient": 15.0}, {"resistance": 0.05}, {"emissivity": 0.8})
            if "coefficient" in film:
                film = {"coefficient": self.following(15.0, "tT")} | ({"emissivity": 0.5} if self.some(0.2) else {})
            document["ambients"] = {"air": {"temperature": self.timed_value(-3.0), **film}}
            regions.append({"material": "air", "where": "z > 0.014 and x > 0.04"})
        if self.some(0.2):
            document["materials"]["pore"] = VOID
            regions.append({"material": "pore", "where": self.one("x > 0.02 and x < 0.03", "z < 0.012 and x < 0.03")})
        document["regions"] = regions
        document["initial"] = {"temperature": self.one(self.warm(5.0), f"{float(self.plain(5.0))} + 300*x")}
        document["boundary"] = self.boundary()
        if self.some(0.5):
            document["sources"] = [self.source(names) for _ in range(self.one(1, 1, 2))]
        if self.some(0.1):
            passed: Table = self.one(
                {"filter": "gaussian", "sigma": 0.004}, {"mask": [[1, 2, 1], [2, 4, 2], [1, 2, 1]]}
            )
            document["smoothing"] = [{"target": self.one("initial", "sources"), **passed}]
        document["output"] = self.output(names)
        if self.some(0.1) and not self.steady:
            document["stop"] = self.one({"when": f"max(T) > {self.plain(40.0)}"}, {"steady_rate": 1e-3})
            document["stop"] |= {"every": self.end / 5}
        if self.some(0.08) and "slices" in document["output"]:
            document["hotspots"] = {"scales": [0.006], "threshold": 0.5, "frames": self.one(1, 2)}
        if self.some(0.05):
            document["sweep"] = {"vary": {"time.end": [self.end, self.end / 2]}, "method": "product"}
        if self.some(0.1):
            document["parameters"] = {"rise": 12.0}
            document["boundary"]["z_max"] = {"kind": "fixed", "temperature": f"{self.plain(0.0)} + rise"}
        if self.some(0.3):
            self.document = document = as_quantity(document) or document
        return tomli_w.dumps(document)

    def plain(self, rise: float) -> float:
        return rise + (293.15 if self.unit == "K" else 20.0)


def as_quantity(document: Table) -> Table | None:
    """The same scenario about moisture, None if it is about what only heat does, or names a unit of temperature."""
    rest = {key: value for key, value in document.items() if key != "temperature_unit"}
    text = tomli_w.dumps(rest)
    if any(word in text for word in ("degC", "weather", "latent", "beam", "emissivity", "melt", 'heat_capacity = "')):
        return None
    materials = document["materials"].values()
    if any(isinstance(each, str) or (each != VOID and "density" not in each) for each in materials):
        return None
    diffusing = {"diffusivity": 1e-5, "solubility": 2.0}
    given = document["materials"].items()
    rest["materials"] = {name: {"diffusivity": 0} if each == VOID else diffusing for name, each in given}
    rest.setdefault("sources", [{"decay": 0.01}])
    moisture = Quantity("moisture", "mol/m3")
    return {"quantity": {"name": moisture.name, "unit": moisture.unit}} | in_keys_of_quantity(rest, moisture)


def write_inputs(folder: Path) -> None:
    """The files that scenarios name, but for the labels of a grid."""
    (folder / "weather.csv").write_text("time [s],air [degC]\n0,15\n2,19\n5,12\n")
    (folder / "power.csv").write_text("time,power\n0,0\n0.1,3\n5,1\n")
    (folder / "scan.csv").write_text("time,x,y,z\n0,0.01,0.02,0.02\n0.01,0.03,0.02,0.02\n5,0.05,0.03,0.02\n")


def write_labels(folder: Path, grid: Table) -> None:
    """The labels of a grid that has equal cells."""
    if "cells" in grid:
        labels = np.zeros(grid["cells"][::-1], np.uint8)
        labels[:2, :, 3:] = 1
        np.save(folder / "labels.npy", labels)


def judge(text: str, folder: Path, counts: Counter[str]) -> str:
    """Validate, dry-run and run a scenario, and count what comes of it; returns what was wrong, or ""."""
    path = folder / "case.toml"
    path.write_text(text)
    write_labels(folder, tomllib.loads(text)["grid"])
    try:
        scenario = heatsim.load(path)
        dry = CliRunner().invoke(main, ["run", str(path), "--dry-run"])
        if dry.exception is not None and not isinstance(dry.exception, SystemExit):
            raise dry.exception
        run = run_scenario(scenario, folder / "run", force=True, on_progress=stop_after(MOST_BATCHES))
    except ScenarioError as error:
        counts["refused"] += 1
        return "" if str(error) else "refused without a word"
    except HeatsimError as error:
        counts["ended by an error"] += 1
        return f"{type(error).__name__}: {error}"
    except Exception as error:
        counts["tracebacks"] += 1
        return f"{type(error).__name__}: {error}"
    counts["run"] += 1
    if dry.exit_code != 0:
        counts["dry runs that failed"] += 1
        return f"dry run: {dry.output}{dry.stderr}"
    energy, precision = run.info["energy"], scenario.compute.precision
    if any("energy moved was lost" in each for each in run.info["warnings"]):
        counts["ledgers left open in float32, and told"] += precision == "float32"
        return "" if precision == "float32" else f"{run.info['warnings']}"
    lost = ROUNDINGS + run.info["steps"] * OFFSET / 2  # units of the last place of 1 K, if each step loses half of one
    rounding = lost * float(np.finfo(precision).eps) * build_problem(scenario).whole_capacity  # J
    if abs(energy["relative_residual"]) > MAX_RESIDUAL[precision] and abs(energy["residual"]) > rounding:
        counts["ledgers left open"] += 1
        return f"ledger: {energy['relative_residual']:.2e} of what moved, {energy['residual']:.2e} in {precision}"
    return ""


def generated(count: int, seed: int, tell: Callable[[str], None] | None = None) -> tuple[Counter[str], set[str]]:
    """Run `count` valid scenarios; the counts of what came of them, and the keys that none had. tell: is called with
    the text of each that went wrong, below what was wrong."""
    chance = random.Random(seed)
    counts = Counter(dict.fromkeys(KINDS, 0))
    used: set[str] = set()
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        folder = Path(name)
        write_inputs(folder)
        while counts["run"] < count and counts["refused"] < 4 * count + 10:
            made = Scenario(chance)
            wrong = judge(made.make(), folder, counts)
            used |= set(_names(made.document))
            if wrong and tell is not None:
                tell(f"{wrong}\n{tomli_w.dumps(made.document)}")
    known = {key for table in json_schema()["$defs"].values() for key in table.get("properties", {})}
    return counts, known - used


def _names(value: Any) -> Iterator[str]:
    for key, inner in value.items() if isinstance(value, dict) else ():
        yield key
        yield from _names(inner)
    for each in value if isinstance(value, list) else ():
        yield from _names(each)


if __name__ == "__main__":
    given = numbers_asked_for(count=500, seed=1)
    counted, missing = generated(given.count, given.seed, lambda wrong: print(wrong, flush=True))
    report(f"scenarios made at random of all keys (seed {given.seed})", counted)
    print(f"  keys that none had: {', '.join(sorted(missing))}")
