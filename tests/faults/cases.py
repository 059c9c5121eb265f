"""Scenarios that between them use every integrator, and every kind of state that a checkpoint has to hold."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

HEAD = """\
[grid]
cells = [12, 10, 8]
size = [0.012, 0.010, 0.008]
[time]
end = {end}
{time}
[compute]
precision = "{precision}"
device = "{device}"
{kernel}
[materials.steel]
conductivity = {conductivity}
density = 7900.0
heat_capacity = 500.0
{latent}
[materials.copper]
conductivity = 398.0
density = 8960.0
heat_capacity = 385.0
[[regions]]
material = "steel"
[[regions]]
material = "copper"
where = "z < 0.003"
[initial]
temperature = "300 + 2000*x"
"""
SCHEDULES = """\
[output]
snapshots = { every = EVERY }
energy = { every = EVERY }
checkpoint = { every_minutes = 1e-9 }
FIELDS
SLICES[[output.probes]]
name = "a"
at = [0.003, 0.004, 0.005]
every = EVERY
[[output.regions]]
name = "all"
material = "steel"
every = EVERY
[[output.results]]
name = "hottest"
of = "max(T)"
over = "time"
every = EVERY
"""
SLICES = '[[output.slices]]\naxis = "z"\nat = 0.004\nevery = EVERY\n'
STATISTICS = 'fields = ["peak_temperature", "time_above", "cooling_rate"]\ntime_above = 305.0\ncooling_through = 304.0'
BEAM = """\
[[sources]]
beam = { kind = "gaussian", power = 60.0, radius = 0.002, depth = 0.002, path = "path.csv" }
[output.melt_pool]
temperature = 310.0
every = EVERY
"""
TRACE = (
    '[[sources]]\ntrace = "trace.csv"\nregion = { box = { lower = [0.0, 0.0, 0.0], upper = [0.004, 0.004, 0.004] } }\n'
)
FIXED = '[boundary]\nx_min = { kind = "fixed", temperature = "300 + 20*sin(9*t)" }\n'
RADIATING = '[boundary]\nx_min = { kind = "radiation", emissivity = 0.9, ambient = 900.0 }\n'
PERFUSED = "[[sources]]\nperfusion = { coefficient = 1e6, temperature = 320.0 }\n"
OUTSIDE = """\
[ambients.outside]
temperature = "300 + 20*sin(9*t)"
coefficient = 500.0
[[regions]]
material = "outside"
where = "y > 0.005"
"""
MELTING = "latent = { heat = 2.0e4, solidus = 306.0, liquidus = 312.0 }"
CURVED = '"15 + 0.01*T"'


def scenario(
    integrator: str,
    *parts: str,
    end: float = 0.6,
    time: str = "",
    precision: str = "float32",
    device: str = "cpu",
    kernel: str = "",
    conductivity: str = "15.0",
    latent: str = "",
    statistics: bool = False,
) -> str:
    """The text of a scenario; parts are added to it as they are."""
    head = HEAD.format(
        end=end,
        time=f'integrator = "{integrator}"\n{time}',
        precision=precision,
        device=device,
        kernel=f'kernel = "{kernel}"' if kernel else "",
        conductivity=conductivity,
        latent=latent,
    )
    sources = [part for part in parts if part.startswith(("[[sources", "[bound", "[ambients"))]
    # Pictures are drawn where there are statistics: they take longer than all else.
    outputs = SCHEDULES.replace("FIELDS", STATISTICS if statistics else "").replace(
        "SLICES", SLICES if statistics else ""
    )
    return (
        (head + "".join(sources) + outputs).replace("EVERY", str(end / 6))
        if "melt_pool" not in "".join(parts)
        else (
            head
            + "".join(sources).replace(BEAM, BEAM.partition("[output")[0])
            + outputs
            + "[output.melt_pool]\n"
            + BEAM.partition("melt_pool]\n")[2]
        ).replace("EVERY", str(end / 6))
    )


# Name -> what `scenario` makes it of.
# In float64 where other tests compile that kernel too.
CASES = {
    "euler": scenario("euler", FIXED, TRACE, statistics=True),
    "euler in float64": scenario("euler", FIXED, BEAM, precision="float64"),
    "euler with tangents": scenario("euler", RADIATING, precision="float64"),
    "euler of what is perfused": scenario("euler", RADIATING, PERFUSED, end=0.05, precision="float64"),
    "euler of what melts": scenario("euler", RADIATING, TRACE, latent=MELTING, statistics=True, precision="float64"),
    "rkl2": scenario("rkl2", FIXED, TRACE, BEAM, precision="float64"),
    "rkl2 in equal steps": scenario("rkl2", TRACE, OUTSIDE, time="step = 0.02"),
    "rkl2 of what melts": scenario("rkl2", RADIATING, latent=MELTING, precision="float64"),
    "implicit": scenario("implicit", FIXED, TRACE, statistics=True),
    "implicit in equal steps": scenario("implicit", BEAM, PERFUSED, time="step = 0.02", precision="float64"),
    "implicit of what melts": scenario("implicit", RADIATING, conductivity=CURVED, latent=MELTING),
}

# On a GPU: every kernel, and what is kept on the device.
GPU_CASES = {
    **{
        f"euler by {kernel}": scenario("euler", FIXED, TRACE, statistics=True, device="cuda", kernel=kernel)
        for kernel in ("basic", "shared", "coarsened", "register", "temporal")
    },
    "euler by temporal without statistics": scenario("euler", FIXED, BEAM, device="cuda", kernel="temporal"),
    "euler with tangents": scenario("euler", RADIATING, device="cuda", kernel="temporal", statistics=True),
    "euler of what melts": scenario("euler", RADIATING, TRACE, device="cuda", kernel="register", latent=MELTING),
    "rkl2 by register": scenario("rkl2", FIXED, BEAM, device="cuda", kernel="register", statistics=True),
    "rkl2 by temporal in float64": scenario("rkl2", TRACE, device="cuda", kernel="temporal", precision="float64"),
    "implicit": scenario("implicit", FIXED, TRACE, device="cuda", statistics=True),
    "implicit of what melts": scenario("implicit", RADIATING, device="cuda", conductivity=CURVED, latent=MELTING),
}


def without_pictures(text: str) -> str:
    """A case without what takes its runs longest."""
    return re.sub(r"\[\[output\.slices\]\]\n(?:\w.*\n)*", "", text)


def write_case(folder: Path, text: str) -> Path:
    """Write a scenario and its input files into a folder; returns its path."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "trace.csv").write_text("time,power\n0,0\n0.2,30\n0.21,0\n1,10\n")
    (folder / "path.csv").write_text("t,x,y,z\n0,0.001,0.005,0.008\n0.5,0.011,0.005,0.008\n1,0.001,0.004,0.008\n")
    path = folder / "case.toml"
    path.write_text(text)
    return path


def digest(run: Path) -> str:
    """A digest of all results of a run folder: what a resumed run and an unbroken one have to have in common."""
    found = hashlib.sha256()
    for path in sorted(run.rglob("*")):
        if path.suffix in (".h5", ".csv", ".png", ".vtkhdf") and not path.name.startswith("checkpoint"):
            found.update(path.relative_to(run).as_posix().encode() + b"\0" + path.read_bytes())
    return found.hexdigest()
