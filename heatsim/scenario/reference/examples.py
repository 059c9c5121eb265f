"""The tables of a scenario in the order of its reference, docs/reference/scenario.md, each with an example.

An example stands in the first one, or one of a diffusivity in that of `[quantity]`: its tables in place of those of the
same name there. Tests load all of them.
"""

from __future__ import annotations

from typing import NamedTuple


class ReferenceSection(NamedTuple):
    """A table of the scenario: its heading, its name in the JSON schema, an example in TOML."""

    heading: str
    name: str
    example: str


_FILE = """\
title = "A steel insert in a copper block"
temperature_unit = "degC"
parameters = { h = 500.0, room = "20 degC" }
grid = { cells = [50, 30, 10], size = [0.1, 0.06, 0.02] }
time = { end = 60.0 }
materials.copper = { conductivity = 400.0, density = 8900.0, heat_capacity = 385.0 }
materials.steel = { conductivity = 15.0, density = 7900.0, heat_capacity = 500.0 }
regions = [
  { material = "copper" },
  { material = "steel", box = { lower = [0.04, 0.0, 0.0], upper = [0.06, 0.06, 0.01] } },
]
initial = { temperature = "room" }
boundary.y_max = { kind = "convection", coefficient = "h", ambient = "room + 2*sin(2*pi*t/3600)" }
sources = [{ region = { sphere = { center = [0.02, 0.02, 0.01], radius = 0.006 } }, power = 50.0 }]
output.slices = [{ axis = "z", at = 0.01, every = 5.0 }]
"""

_QUANTITY = """\
grid = { cells = [60, 1, 1], size = ["3 mm", "1 mm", "1 mm"] }
time = { end = "2 h" }
regions = [{ material = "polymer" }]
initial = { oxygen = 0.0 }
boundary.x_min = { kind = "fixed", oxygen = 8.0 }
boundary.x_max = { kind = "convection", coefficient = 1e-6, ambient = 0.5 }
sources = [{ decay = 1e-4 }]

[quantity]
name = "oxygen"
unit = "mol/m3"

[materials.polymer]
diffusivity = 2e-10
solubility = 3.0
"""

_DIFFUSION = """\
[materials.polymer]
diffusivity = "2e-10*(1 + 0.05*T)"
solubility = 3.0
"""

_DIFFUSIVITY = """\
[materials.polymer]
diffusivity = { T = [0.0, 8.0], value = [2e-10, 3e-10] }
solubility = 3.0
"""

_GRID = """\
[grid]
cells = [50, 30, 10]
size = [0.1, 0.06, 0.02]
"""

_AXIS = """\
[grid]
x = { layers = [{ thickness = 0.02, cells = 20 }, { thickness = 0.08, cells = 20 }] }
y = { edges = [0.0, 0.01, 0.025, 0.04, 0.06] }
z = { layers = [{ thickness = 0.02, cells = 10 }] }
"""

_LAYERS = """\
[grid]
cells = [50, 30, 8]
size = [0.1, 0.06, 0.02]

[[grid.z.layers]]
thickness = 0.002
cells = 4

[[grid.z.layers]]
thickness = 0.018
cells = 4
"""

_TIME = """\
[time]
end = 60.0
integrator = "implicit"
tolerance = 1e-4
periodic = 20.0                          # starts from the state that repeats
"""

_STOP = """\
[stop]
when = "max(T, 'steel') > 45 or mean(T) > 30"
every = 0.5
"""

_MATERIAL = """\
[materials.copper]
conductivity = 400.0
density = 8900.0
heat_capacity = 385.0

[materials.steel]                        # a laminate, which conducts across its sheets a tenth as well
conductivity = [15.0, 15.0, 1.5]
density = 7900.0
heat_capacity = "480 + 0.2*T"            # T in the file's unit
"""

_REFERENCE = """\
[materials]
copper = { name = "copper", at = "60 degC" }   # constants: the problem stays linear
steel = "carbon_steel"                          # k(T) and c(T) of the library
"""

_CONDUCTIVITY = """\
[materials.copper]
conductivity = { T = [0.0, 500.0], value = [401.0, 370.0] }
density = 8900.0
heat_capacity = 385.0

[materials.steel]
conductivity = "14 + 0.015*T"
density = 7900.0
heat_capacity = 500.0
"""

_HEAT_CAPACITY = """\
[materials]
copper = { conductivity = 400.0, density = 8900.0, heat_capacity = 385.0 }
steel = { conductivity = 15.0, density = 7900.0, heat_capacity = { T = [20.0, 800.0], value = [490.0, 640.0] } }
"""

_LATENT = """\
materials.copper = { conductivity = 400.0, density = 8900.0, heat_capacity = 385.0 }

[materials.steel]
conductivity = 15.0
density = 7900.0
heat_capacity = 500.0
latent = { heat = 2.7e5, solidus = 1400.0, liquidus = 1450.0 }
"""

_AMBIENT = """\
ambients.air = { temperature = 20.0, coefficient = 8.0 }
ambients.outside = { temperature = "5 + 8*sin(2*pi*t/86400)", coefficient = "10 + 5*sin(2*pi*t/86400)" }
ambients.oven = { temperature = 200.0, resistance = 0.1, emissivity = 0.9 }
regions = [{ material = "copper" }, { material = "air", where = "x > 0.05 and z > 0.01" }]
"""

_CONTACT = """\
[[contacts]]
between = ["copper", "steel"]
resistance = 1e-4
"""

_REGION = """\
[[regions]]
material = "copper"

[[regions]]
material = "steel"
where = "(x - 0.05)**2 + (y - 0.03)**2 < 0.01**2"
"""

_BOX = """\
[[regions]]
material = "copper"

[[regions]]
material = "steel"
box = { lower = [0.0, 0.0, 0.0], upper = [0.1, 0.06, 0.004] }
"""

_SPHERE = """\
regions = [{ material = "copper" }, { material = "steel", sphere = { center = [0.05, 0.03, 0.01], radius = 0.01 } }]
"""

_CYLINDER = """\
[[regions]]
material = "copper"

[[regions]]
material = "steel"
cylinder = { start = [0.05, 0.03, 0.0], end = [0.05, 0.03, 0.02], radius = 0.01 }
"""

_POLYGON = """\
[[regions]]
material = "copper"

[[regions]]                                   # an L, 4 mm high, which starts hot
material = "steel"
initial = 80.0
polygon = { axis = "z", points = [[0, 0], [0.05, 0], [0.05, 0.01], [0.01, 0.01], [0.01, 0.04], [0, 0.04]], to = 0.004 }
"""

_FLOORPLAN = """\
[[sources]]                                   # a block of a chip
region = { floorplan = { file = "chip.flp", unit = "core", z = [0.0, 0.002], at = [0.01, 0.01] } }
power = 3.0
"""

_GDS = """\
[[regions]]
material = "copper"

[[regions]]                                   # a layer of a chip
material = "steel"
gds = { file = "chip.gds", layer = 8, z = [0.0001, 0.000103] }
"""

_LABELLED = """\
[[sources]]                                   # two of the solids in a file
region = { labelled = { file = "labels.npy", labels = [2, 5] } }
power = 3.0
"""

_LABELS = """\
[[regions]]
labels = { file = "labels.npy", map = { 0 = "copper", 1 = "steel" } }
"""

_INITIAL = """\
[initial]
temperature = "20 + 5*exp(-(x/0.01)**2)"
"""

_ARRAY = """\
[initial.temperature]
file = "outputs/plate/snapshots/000010.h5"
dataset = "temperature"
"""

_BOUNDARY = """\
[boundary]
default = { kind = "convection", coefficient = 10.0, ambient = 20.0 }
z_min = { kind = "insulated" }
y_max = { kind = "fixed", temperature = "20 + 5*sin(2*pi*t/60)" }
"""

_INSULATED = """\
[boundary]
default = { kind = "fixed", temperature = 20.0 }
z_min = { kind = "insulated", patches = [{ where = "x < 0.01", kind = "flux", flux = 1e4 }] }
"""

_FIXED = """\
boundary.x_min = { kind = "fixed", temperature = "20 if t < 10 else 80" }
"""

_FLUX = """\
boundary.z_max = { kind = "flux", flux = "2e4*exp(-((x - 0.05)**2 + (y - 0.03)**2)/1e-4)" }
"""

_CONVECTION = """\
[boundary.z_max]
kind = "convection"
coefficient = 10.0
ambient = 20.0
emissivity = 0.9                         # it radiates to the ambient, too
patches = [{ where = "x < 0.02", kind = "convection", coefficient = 200.0, ambient = 5.0 }]
"""

_PERIODIC = """\
boundary.x_min = { kind = "periodic" }
boundary.x_max = { kind = "periodic" }
"""

_RADIATION = """\
boundary.z_max = { kind = "radiation", emissivity = 0.8, ambient = 20.0 }
"""

_SOURCE = """\
[[sources]]                              # 40 W in all, for half a minute
region = { box = { lower = [0.01, 0.01, 0.0], upper = [0.02, 0.02, 0.02] } }
power = "40 if t < 30 else 0"

[[sources]]                              # everywhere
power_density = "1e5*exp(-(x/0.01)**2)"

[[sources]]                              # in all of a material
material = "steel"
trace = "power.csv"

[[sources]]                              # a reaction: T is the temperature where it is
power_density = "1e9*exp(-8000/T)"
"""

_PERFUSION = """\
[[sources]]                              # blood in tissue
perfusion = { coefficient = 2000.0, temperature = 310.15 }
"""

_SHAPE = """\
[[sources]]
power = 40.0
region = { cylinder = { start = [0.02, 0.02, 0.0], end = [0.02, 0.02, 0.02], radius = 0.005 } }
"""

_GAUSSIAN = """\
[[sources]]
beam = { kind = "gaussian", power = 60.0, absorptivity = 0.4, radius = 5e-3, depth = 1e-3, path = "scan.csv" }
"""

_GOLDAK = """\
[[sources]]
beam = { kind = "goldak", power = 900.0, efficiency = 0.7, a = 4e-3, b = 4e-3, cf = 4e-3, cr = 8e-3, path = "weld.csv" }
"""

_SMOOTHING = """\
[[smoothing]]
target = "sources"
filter = "gaussian"
sigma = 0.003
edges = "reflect"
"""

_OUTPUT = """\
[output]
snapshots = { every = 10.0 }
fields = ["heat_flux", "peak_temperature", "time_above"]
time_above = 60.0
energy = { every = 1.0 }
"""

_SCHEDULE = """\
output.snapshots = { at = [0.0, 1.0, 10.0, 60.0] }
output.energy = { count = 60 }
"""

_PICTURES = """\
[output.pictures]
theme = "dark"
range = [20.0, 120.0]
levels = [100.0]
overview = true
"""

_LOGARITHMIC = """\
[[output.probes]]                        # 20 times a decade, and none before 1 ms
name = "heater"
at = [0.02, 0.02, 0.01]
times = { from = 1e-4, to = 60.0, per_decade = 20 }
after = "1 ms"
"""

_TIMES_FILE = """\
[[output.probes]]
name = "heater"
at = [0.02, 0.02, 0.01]
times = [0.5, 1.0, "1 min"]              # or { file = "measured.csv", column = "time" }
"""

_SLICE = """\
[[output.slices]]
axis = "z"
at = 0.01
every = 5.0
name = "middle"
"""

_PROBE = """\
[[output.probes]]
name = "heater"
at = [0.02, 0.02, 0.01]
every = 0.5

[[output.probes]]
name = "surface above it"                # z_max, the upper wall
at = [0.02, 0.02, 0.02]
every = 0.5
"""

_STATISTICS = """\
[[output.regions]]
name = "insert"
material = "steel"
every = 1.0

[[output.regions]]
name = "left end"
box = { lower = [0.0, 0.0, 0.0], upper = [0.01, 0.06, 0.02] }
count = 60
"""

_RESULT = """\
[[output.results]]
name = "hottest steel"
of = "max(T, 'steel')"
over = "time"

[[output.results]]
name = "heat through z_min"
of = "heat('z_min')"                     # J, at the end
"""

_MELT_POOL = """\
[output.melt_pool]
temperature = 40.0
every = 5.0
"""

_CHECKPOINT = """\
[output.checkpoint]
every_minutes = 30
"""

_HOTSPOTS = """\
[hotspots]
scales = [0.004, 0.006, 0.009]
threshold = 1.0
"""

_SWEEP = """\
[sweep]
vary = { h = [100.0, 200.0, 500.0], room = { from = "10 degC", to = "30 degC", count = 5 } }
"""

_VOID = """\
regions = [
  { material = "copper" },
  { material = "pore", sphere = { center = [0.05, 0.03, 0.01], radius = 0.006 } },
]

[materials.copper]
conductivity = 400.0
density = 8900.0
heat_capacity = 385.0

[materials.pore]
conductivity = 0
"""

SECTIONS = (
    ReferenceSection("The file", "Scenario", _FILE),
    ReferenceSection("`[quantity]`", "QuantitySection", _QUANTITY),
    ReferenceSection("`[grid]`", "Grid", _GRID),
    ReferenceSection("`[grid.x]`, `[grid.y]`, `[grid.z]`", "Axis", _AXIS),
    ReferenceSection("`[[grid.x.layers]]`", "Layer", _LAYERS),
    ReferenceSection("`[time]`", "Time", _TIME),
    ReferenceSection("`[stop]`", "Stop", _STOP),
    ReferenceSection("`[compute]`", "Compute", '[compute]\ndevice = "cpu"\nprecision = "float64"\n'),
    ReferenceSection("`[materials.NAME]`", "Material", _MATERIAL),
    ReferenceSection("`[materials.NAME]` of a void", "Void", _VOID),
    ReferenceSection("Materials by name", "MaterialReference", _REFERENCE),
    ReferenceSection("`[materials.NAME.conductivity]`", "ConductivityTable", _CONDUCTIVITY),
    ReferenceSection("`[materials.NAME.heat_capacity]`", "HeatCapacityTable", _HEAT_CAPACITY),
    ReferenceSection("`[materials.NAME.latent]`", "Latent", _LATENT),
    ReferenceSection("`[materials.NAME]` of a quantity", "DiffusionMaterial", _DIFFUSION),
    ReferenceSection("`[materials.NAME.diffusivity]`", "DiffusivityTable", _DIFFUSIVITY),
    ReferenceSection("`[ambients.NAME]`", "Ambient", _AMBIENT),
    ReferenceSection("`[[contacts]]`", "Contact", _CONTACT),
    ReferenceSection("`[[regions]]`", "Region", _REGION),
    ReferenceSection("`box`", "Box", _BOX),
    ReferenceSection("`sphere`", "Sphere", _SPHERE),
    ReferenceSection("`cylinder`", "Cylinder", _CYLINDER),
    ReferenceSection("`polygon`", "Polygon", _POLYGON),
    ReferenceSection("`[regions.labels]`", "Labels", _LABELS),
    ReferenceSection("`labelled`", "Labelled", _LABELLED),
    ReferenceSection("`floorplan`", "Floorplan", _FLOORPLAN),
    ReferenceSection("`gds`", "GdsLayer", _GDS),
    ReferenceSection("`[initial]`", "Initial", _INITIAL),
    ReferenceSection("`[initial.temperature]`", "ArrayFile", _ARRAY),
    ReferenceSection("`[boundary]`", "Boundary", _BOUNDARY),
    ReferenceSection("Insulated faces", "Insulated", _INSULATED),
    ReferenceSection("Fixed faces", "Fixed", _FIXED),
    ReferenceSection("Faces with a flux", "Flux", _FLUX),
    ReferenceSection("Faces with convection", "Convection", _CONVECTION),
    ReferenceSection("Periodic faces", "Periodic", _PERIODIC),
    ReferenceSection("Faces that radiate", "Radiation", _RADIATION),
    ReferenceSection("`[[sources]]`", "Source", _SOURCE),
    ReferenceSection("`perfusion`", "Perfusion", _PERFUSION),
    ReferenceSection("`[sources.region]`", "Shape", _SHAPE),
    ReferenceSection("Gaussian beams", "GaussianBeam", _GAUSSIAN),
    ReferenceSection("Goldak beams", "GoldakBeam", _GOLDAK),
    ReferenceSection("`[[smoothing]]`", "Smoothing", _SMOOTHING),
    ReferenceSection("`[output]`", "Output", _OUTPUT),
    ReferenceSection("`[output.snapshots]`, `[output.energy]`", "Schedule", _SCHEDULE),
    ReferenceSection("Times in equal ratios", "LogarithmicTimes", _LOGARITHMIC),
    ReferenceSection("Times from a file", "TimesFile", _TIMES_FILE),
    ReferenceSection("`[[output.slices]]`", "Slice", _SLICE),
    ReferenceSection("`[output.pictures]`", "Pictures", _PICTURES),
    ReferenceSection("`[[output.probes]]`", "Probe", _PROBE),
    ReferenceSection("`[[output.regions]]`", "Statistics", _STATISTICS),
    ReferenceSection("`[[output.results]]`", "Result", _RESULT),
    ReferenceSection("`[output.melt_pool]`", "MeltPoolSize", _MELT_POOL),
    ReferenceSection("`[output.checkpoint]`", "CheckpointInterval", _CHECKPOINT),
    ReferenceSection("`[hotspots]`", "Hotspots", _HOTSPOTS),
    ReferenceSection("`[sweep]`", "Sweep", _SWEEP),
)
