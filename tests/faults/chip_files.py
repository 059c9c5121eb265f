"""Small files of HotSpot and 3D-ICE, of which mutants are made."""

from __future__ import annotations

_PLAN = """\
# name width height left bottom
core_0  0.004 0.006 0.000 0.000
core_1  0.006 0.006 0.004 0.000
cache   0.010 0.004 0.000 0.006
core_0 core_1 1.0
"""
_OTHER_PLAN = "all\t0.010\t0.010\t0.0\t0.0\t1.75e6\t0.01\n"
_TRACE = "core_0 core_1 cache\n10.0 2.0 1.5\n6.0 0.0 1\n0 3 1e-3\n"
_CONFIG = """\
# an extract of HotSpot's example.config
		-t_chip		0.00015 # chip thickness in meters
		-k_chip		100.0
		-p_chip		1.75e6
-s_sink 0.06
-t_sink 0.0069
-s_spreader 0.03
-t_spreader 0.001
-t_interface 2.0e-05
-r_convec 0.1
-c_convec 140.4
-ambient 318.15
-init_temp 333.15
-init_file (null)
-sampling_intvl 3.333e-06
-base_proc_freq 3e9
-model_type block
-model_secondary 0
-leakage_used 0
-package_model_used 0
-use_microfluidic_cooling 0
-grid_rows 64
-dtm_used 0
"""
_LAYERS = """\
# layer number, lateral heat flow, power, capacity, resistivity, thickness, floorplan
0
Y
Y
1.75e6
0.01
0.00015
die.flp

1
Y
N
4e6
0.25
2.0e-05
other.flp

2
N
Y
1.6e6
0.02
0.0001
other.flp
"""
_LAYERS_TRACE = "core_0 core_1 cache all\n1 2 3 4\n"
_MATERIALS = """\
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
_NAMED_LAYERS = _LAYERS.replace("1.75e6\n0.01\n", "silicon\n").replace("other.flp", "die.flp").replace("Y\nN", "y\nY")
_STACK = """\
material SILICON :
   thermal conductivity     1.30e-4, 1.30e-4, 1.1e-4 ;
   volumetric heat capacity 1.628e-12 ;
material BEOL :
   thermal conductivity     2.25e-6 ;
   volumetric heat capacity 2.175e-12 ;
/* the sink */
top heat sink :
   heat transfer coefficient 1.0e-7 ;
   temperature 300 ;
bottom heat sink :
   heat transfer coefficient 1.0e-8 ;
   temperature 310.5 ;
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
   chip length 10000, width 10000 ;
   cell length 1000, width 1000 ;
stack:
   die   UPPER  TOP  floorplan "./die.flp" ;
   layer BETWEEN BOND ;
   die   LOWER  LOW  floorplan "./other.flp" ;
   layer LAST   100 SILICON ;
solver:
   transient step 0.02, slot 0.2 ;
   initial temperature 300.0 ;
output:
   T ( UPPER, "a.txt", 5000, 3000, step ) ;
   Tmap ( LOWER, "b.txt", slot ) ;
"""
_ICE_PLAN = """\
Core0 :
  position 0, 100 ;
  dimension 4000, 6000.5 ;
  power values 1.5, 2, 0.0 ; // W
/* a cache */
L2 : position 4000, 0; dimension 1e3, 2e3; power values 0.5;
Rest :
  position 5000, 0 ;
  dimension 5000, 9000 ;
  material BEOL ;
"""
_ICE_OTHER_PLAN = "bank : position 0, 0 ; dimension 10000, 10000 ; power values 1.0 ;\n"

# The files of an import, the first the one that the command names, and its other options.
CHIPS: dict[str, tuple[dict[str, str], tuple[str, ...]]] = {
    "HotSpot": (
        {"die.flp": _PLAN, "die.ptrace": _TRACE, "die.config": _CONFIG},
        ("--powers", "die.ptrace", "--config", "die.config"),
    ),
    "HotSpot, steady": (
        {"die.flp": _PLAN, "die.ptrace": _TRACE, "die.config": _CONFIG},
        ("--powers", "die.ptrace", "--config", "die.config", "--steady"),
    ),
    "HotSpot's layers": (
        {
            "stack.lcf": _LAYERS,
            "die.flp": _PLAN,
            "other.flp": _OTHER_PLAN,
            "die.ptrace": _LAYERS_TRACE,
            "die.config": _CONFIG,
        },
        ("--powers", "die.ptrace", "--config", "die.config"),
    ),
    "HotSpot's materials": (
        {
            "stack.lcf": _NAMED_LAYERS,
            "die.flp": _PLAN.replace("core_0 core_1 1.0", "fill 0.004 0 0 0.006"),
            "die.ptrace": "core_0 core_1 cache fill\tcore_0 core_1 cache fill core_1 core_0 cache fill\n"
            "1 2 3 0 4 5 6 0 7 8 9 0\n",
            "die.config": _CONFIG + "-material_sink aluminum\n-material_chip silicon\n-detailed_3D on\n",
            "hotspot.materials": _MATERIALS,
        },
        ("--powers", "die.ptrace", "--config", "die.config", "--materials", "hotspot.materials"),
    ),
    "3D-ICE": ({"stack.stk": _STACK, "die.flp": _ICE_PLAN, "other.flp": _ICE_OTHER_PLAN}, ()),
    "3D-ICE, steady": (
        {
            "stack.stk": _STACK.replace("transient step 0.02, slot 0.2", "steady"),
            "die.flp": _ICE_PLAN,
            "other.flp": _ICE_OTHER_PLAN,
        },
        (),
    ),
}
