"""Small files of HotSpot and 3D-ICE, for tests of imports and for the fuzz, which makes mutants of them."""

from __future__ import annotations

PLAN = """\
# name width height left bottom
core\t0.004\t0.010\t0.000\t0.000
cache\t0.006\t0.010\t0.004\t0.000
core cache 1.0
"""
OWN_PLAN = "all\t0.010\t0.010\t0.0\t0.0\t1.75e6\t0.02\n"
TRACE = "core cache\n10.0 2.0\n6.0 0.0\n"
_NODES = [f"{layer}{block}" for layer in ("", "iface_", "hsp_", "hsink_") for block in ("core", "cache")]
_NODES += [f"inode_{number}" for number in range(12)]
START = "".join(f"{name} {310.0 + number}\n" for number, name in enumerate(_NODES))
CONFIG = """\
 -s_sink 0.03 # side, m
-s_spreader 0.02
-r_convec 0.5
-ambient 300
-init_temp 300
-sampling_intvl 0.02
-model_secondary 0
"""
LONG_CONFIG = (
    CONFIG
    + """\
# an extract of HotSpot's example.config
		-t_chip		0.00015 # chip thickness in meters
		-k_chip		100.0
-t_sink 0.0069
-t_interface 2.0e-05
-c_convec 140.4
-init_file (null)
-model_type block
-leakage_used 1
-leakage_mode 0
-model_secondary 0
-package_model_used 0
-use_microfluidic_cooling 0
-grid_rows 64
"""
)
SECONDARY = (
    CONFIG.replace("secondary 0", "secondary 1") + "-r_convec_sec 5\n-s_pcb 0.04\n-t_pcb 0.002\n-t_metal 1e-100\n"
)
PACKAGE = "# fins\n-natural_convec 0\n-flow_type 0\n-sink_type 0\n-fin_height 0.03\n-fin_width 0.001\n-rpm 2000\n"
LAYERS = """\
0
Y
Y
1.6e6
0.01
0.0002
chip.flp
1
N
N
4e6
0.25
2e-5
chip.flp
"""
MATERIALS = """\
# name, type, conductivity, capacity, viscosity of a fluid
silicon
solid
130.0
1630300

water
fluid
0.6069
4172638
8.89e-4
aluminum
solid
237.0
2.422e6
"""
NAMED_LAYERS = LAYERS.replace("1.6e6\n0.01\n", "silicon\n").replace("N\nN", "y\nY")

ICE_STACK = """\
material SILICON :
   thermal conductivity     1.3e-4 ; // W/(um K)
   volumetric heat capacity 1.6e-12 ;
material BEOL :
   thermal conductivity     2e-6 ;
   volumetric heat capacity 2e-12 ;
top heat sink :
   heat transfer coefficient 1e-7 ;
   temperature 300 ;
layer BOND :
   height 20 ;
   material BEOL ;
die TOP :
   source  2 SILICON ;
   layer  50 SILICON ;
die LOW :
   layer  10 BEOL ;
   source  2 SILICON ;
dimensions :
   chip length 4000, width 3000 ;
   cell length 500, width 500 ;
stack:
   die   UPPER  TOP  floorplan "plan.flp" ;
   layer BETWEEN BOND ;
   die   LOWER  LOW  floorplan "plan.flp" ;
   layer LAST   100 SILICON ;
solver:
   transient step 0.02, slot 0.1 ;
   initial temperature 310 ;
output:
   T ( UPPER, "a.txt", 5000, 3000, step ) ;
"""
ICE_PLAN = (
    "A : position 0, 0 ; dimension 2000, 3000 ; power values 2, 4 ;\nB : position 2000, 0; dimension 2000, 3000;\n"
)
ICE_RECTANGLES = (
    "A : rectangle (0, 0, 2000, 1500) ; rectangle (0, 1500, 1000, 1500) ; power values 2, 4 ;\n"
    "B : position 2000, 0; dimension 2000, 3000; material BEOL ; discretization 2, 2 ;\n"
)
ICE_LAYOUT = """\
material COPPER :
   thermal conductivity     4e-4 ;
   volumetric heat capacity 3.4e-12 ;
SILICON : rectangle (0, 0, 1000, 1000) ; rectangle (2000, 1000, 500, 500) ;
COPPER : position 1000, 0 ; dimension 1000, 1000 ;
"""
ICE_STEADY = ICE_STACK.replace("transient step 0.02, slot 0.1 ;", "steady ;")
ICE_COOLED = "heat transfer coefficient 1e-7 ;\n   temperature 300 ;\n"
ICE_SPREADER = ICE_STEADY.replace(
    f"top heat sink :\n   {ICE_COOLED}",
    "heat sink :\n   sink height 6900, area 1e8, material SILICON ;\n"
    "   spreader height 1000, area 4e7, material BEOL ;\n"
    f"   {ICE_COOLED}bottom heat sink :\n   {ICE_COOLED}",
).replace("   material BEOL ;\ndie TOP", '   material BEOL ;\n   layout "bond.lay" ;\ndie TOP')
ICE_PLUGIN = ICE_STACK.replace(
    f"top heat sink :\n   {ICE_COOLED}",
    "top pluggable heat sink :\n   spreader length 6000, width 5000, height 1000 ;\n   material SILICON ;\n"
    '   plugin "sink.so", "27" ;\n',
)
_POWERS = "--powers", "chip.ptrace", "--config", "chip.config"

# The files of an import, the first the one that the command names, and its other options.
CHIPS: dict[str, tuple[dict[str, str], tuple[str, ...]]] = {
    "HotSpot": ({"chip.flp": PLAN, "chip.ptrace": TRACE, "chip.config": LONG_CONFIG}, _POWERS),
    "HotSpot, steady": ({"chip.flp": PLAN, "chip.ptrace": TRACE, "chip.config": SECONDARY}, (*_POWERS, "--steady")),
    "HotSpot's package": (
        {
            "chip.flp": PLAN,
            "chip.ptrace": TRACE,
            "chip.config": CONFIG + "-package_model_used 1\n-package_config_file package.config\n",
            "package.config": PACKAGE,
        },
        (*_POWERS, "--steady"),
    ),
    "HotSpot's layers": (
        {
            "stack.lcf": f"{LAYERS}2\nN\nY\n1.6e6\n0.02\n0.0001\nother.flp\n",
            "chip.flp": PLAN,
            "other.flp": OWN_PLAN,
            "chip.ptrace": "core cache all\n1 2 3\n",
            "chip.config": SECONDARY,
        },
        _POWERS,
    ),
    "HotSpot's materials": (
        {
            "stack.lcf": NAMED_LAYERS,
            "chip.flp": PLAN.replace("core cache 1.0", "fill 0.004 0 0 0.006"),
            "chip.ptrace": "core cache fill\tcache core fill\n1 2 0 4 5 0\n",
            "chip.config": LONG_CONFIG + "-material_sink aluminum\n-material_chip silicon\n-detailed_3D on\n",
            "hotspot.materials": MATERIALS,
        },
        (*_POWERS, "--materials", "hotspot.materials"),
    ),
    "3D-ICE": ({"stack.stk": ICE_STACK, "plan.flp": ICE_PLAN}, ()),
    "3D-ICE, steady": ({"stack.stk": ICE_STEADY, "plan.flp": ICE_RECTANGLES}, ()),
    "3D-ICE with a spreader": ({"stack.stk": ICE_SPREADER, "plan.flp": ICE_RECTANGLES, "bond.lay": ICE_LAYOUT}, ()),
    "3D-ICE with a plugin": ({"stack.stk": ICE_PLUGIN, "plan.flp": ICE_PLAN}, ("--sink-coefficient", "500")),
}
