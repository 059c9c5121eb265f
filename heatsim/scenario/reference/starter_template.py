"""The file that `heatsim init` starts a user off with."""

from __future__ import annotations

import tomli_w

_STARTER = """\
#:schema ./heatsim.schema.json
# Editors complete and check keys by that file beside this one; `heatsim schema > heatsim.schema.json` writes it, too.
# Lengths are in m, times in s, powers in W: all SI.
@title@
temperature_unit = "degC"              # or "K": of every temperature here and in the results

# An aluminium plate of 100 x 60 x 2 mm. One cell across the thickness: a 2-D problem.
[grid]
cells = [200, 120, 1]                  # along x, y, z
size = [0.1, 0.06, 0.002]              # m

[time]
end = 60.0                             # s
integrator = "auto"                    # the fastest that keeps the error in time within tolerance
tolerance = 1e-3                       # of the range of temperatures: 0.1 K where they are from 20 to 120 degC

[compute]
device = "auto"                        # a GPU if there is one, else all CPU cores
precision = "float32"                  # or "float64"

[materials.aluminium]
conductivity = 237.0                   # W/(m K); or [kx, ky, kz]
density = 2700.0                       # kg/m3
heat_capacity = 900.0                  # J/(kg K)

[materials.steel]
conductivity = 15.0
density = 7900.0
heat_capacity = 500.0

# Regions are painted in order, later over earlier; the first has no shape and covers the grid.
[[regions]]
material = "aluminium"

[[regions]]                            # a steel insert, which heat has to flow around
material = "steel"
cylinder = { start = [0.055, 0.03, 0.0], end = [0.055, 0.03, 0.002], radius = 0.012 }

[initial]
temperature = 20.0                     # or an expression in x, y, z: "20 + 5*exp(-(x/0.01)**2)"

# Faces are x_min, x_max, y_min, y_max, z_min, z_max; those not named are insulated.
[boundary]
x_max = { kind = "fixed", temperature = 20.0 }                      # a heat sink
z_max = { kind = "convection", coefficient = 25.0, ambient = 20.0 } # W/(m2 K): a fan over the plate

[[sources]]                            # a chip near the left edge: full power for 30 s, then a tenth
region = { box = { lower = [0.01, 0.02, 0.0], upper = [0.03, 0.04, 0.002] } }
power = "40 if t < 30 else 4"          # W in the region, number or expression in x, y, z, t

[output]
snapshots = { count = 12 }             # the whole field: 12 equal intervals
energy = { every = 1.0 }               # s; stored, released and lost heat in energy.csv

[[output.slices]]                      # pictures
axis = "z"
at = 0.001                             # m
every = 5.0                            # s

[[output.probes]]                      # columns of probes.csv
name = "chip"
at = [0.02, 0.03, 0.001]               # m
every = 0.5                            # s

[[output.probes]]
name = "behind the insert"
at = [0.075, 0.03, 0.001]
every = 0.5
"""


def starter(name: str) -> str:
    """Return a commented scenario with the title `name`, a small case that runs in seconds."""
    return _STARTER.replace("@title@", tomli_w.dumps({"title": name}).strip())
