"""Scenarios from the stacks of 3D-ICE."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from chip_runs import mean_of_block, run
from click.testing import CliRunner, Result

import heatsim
from heatsim.cli.main import main
from heatsim.problem import build_problem

STACK = """\
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
PLAN = "A : position 0, 0 ; dimension 2000, 3000 ; power values 2, 4 ;\nB : position 2000, 0; dimension 2000, 3000;\n"


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def imported(*options: str, stack: str = STACK, plan: str = PLAN) -> Result:
    Path("chip.stk").write_text(stack)
    Path("plan.flp").write_text(plan)
    return CliRunner().invoke(main, ["import", "chip.stk", *options])


def test_a_stack_is_a_row_of_resistances_where_its_power_is_even() -> None:
    plan = "A : position 0, 0 ; dimension 4000, 3000 ; power values 2, 4 ;\n"
    result = imported("--steady", plan=plan)
    assert result.exit_code == 0, result.output
    assert "chip.toml: 2 blocks, " in result.output
    state = run("time.tolerance=1e-9")
    assert state.energy.faces["z_max"] == pytest.approx(-6.0)
    names = [region.name for region in state.problem.scenario.output.regions]
    assert names == ["LOWER_A", "UPPER_A"]
    area, k, beol = 4e-3 * 3e-3, 130.0, 2.0
    upper = 300.0 + 6.0 / (1e5 * area) + (3.0 * 1e-6 / k + 3.0 * 2e-6 / (3 * k)) / area  # heat of both leaves above it
    assert mean_of_block(state, 1) == pytest.approx(upper, abs=2e-4)
    between = 3.0 * (50e-6 / k + 20e-6 / beol + 10e-6 / beol) / area
    assert mean_of_block(state, 0) - mean_of_block(state, 1) == pytest.approx(between, rel=1e-2)


def test_powers_change_from_slot_to_slot() -> None:
    result = imported()
    assert result.exit_code == 0
    assert "no power is given for LOWER_B, UPPER_B" in result.stderr
    state = run("time.integrator=implicit")
    assert state.time == pytest.approx(0.2)
    assert state.energy.sources == pytest.approx(2 * (2.0 + 4.0) * 0.1, rel=1e-4)
    grid = state.problem.grid
    assert grid.shape[1:] == (6, 8)  # its own cells
    assert imported("--force", "--steady", "--cells", "20").exit_code == 0
    assert run().problem.grid.shape[1:] == (15, 20)


def test_materials_may_conduct_unlike_along_the_axes_and_blocks_have_their_own() -> None:
    stack = STACK.replace("1.3e-4 ;", "1.3e-4, 1e-4, 2e-4 ;").replace('"plan.flp" ;', '"plan.flp" discretization 4 5 ;')
    assert imported("--steady", stack=stack, plan=PLAN.replace("2, 4 ;", "2, 4 ; material BEOL ;")).exit_code == 0
    problem = build_problem(heatsim.load("chip.toml"))
    assert problem.scenario.materials["SILICON"].conductivity == pytest.approx((130.0, 100.0, 200.0))
    names, source = [*problem.scenario.materials], problem.scenario.sources[0].region
    assert source is not None
    assert source.floorplan is not None
    at = int(np.searchsorted(problem.grid.centres("z"), source.floorplan.z[0]))
    assert [names[problem.zones.material((x, 1, at))] for x in (1, 6)] == ["BEOL", "SILICON"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("layer BETWEEN BOND ;", "channel BETWEEN ;", "microchannels cannot be imported"),
        ("layer BETWEEN BOND ;", "layer BETWEEN GLUE ;", "expected a layer or a die that the file declares"),
        ("layer  50 SILICON", "layer  50 GLASS", "expected a material that the file declares, found 'GLASS'"),
        ("chip length 4000", "chip length 0", "dimensions: expected chip length and a number > 0"),
        ("chip length 4000", "chip length 1000", "expected blocks within the chip of the stack"),
        ("width 3000", "width 1e308", "dimensions: expected width and a number > 0 and below 1e+12, found 1e308"),
        ("width 3000", "width 1e10", "line 20: chip length, width or cell length: expected at most 20000 cells"),
        ("cell length 500", "cell length 1e-9", "expected at most 20000 cells along an axis, found"),
        ('floorplan "plan.flp"', 'floorplan "none.flp"', "none.flp: no such file"),
        (
            "   temperature 300 ;",
            "   sink height 1, area 1, material BEOL ;",
            "a heat sink with a spreader, or in a plugin",
        ),
        ("top heat sink :", 'top pluggable heat sink :\n plugin "a.so" ;', "or in a plugin, cannot be imported"),
    ],
)
def test_stacks_that_cannot_be_imported_say_why(old: str, new: str, message: str) -> None:
    result = imported(stack=STACK.replace(old, new))
    assert result.exit_code == 2, result.output
    assert message in result.stderr


def test_a_floorplan_of_hotspot_needs_its_powers() -> None:
    Path("chip.flp").write_text("core 1 1 0 0\n")
    result = CliRunner().invoke(main, ["import", "chip.flp"])
    assert result.exit_code == 2
    assert "give the powers of its blocks" in result.stderr


STEADY = STACK.replace("transient step 0.02, slot 0.1 ;", "steady ;")


def test_a_steady_stack_has_its_first_powers() -> None:
    """As 3D-ICE has; `--steady` of a stack in time has the means."""
    result = imported(stack=STEADY)
    assert "of several powers the first is taken, as 3D-ICE does where the solver is steady" in result.stderr
    assert [source.power for source in heatsim.load("chip.toml").sources] == [2.0, 0.0, 2.0, 0.0]
    assert imported("--steady", "--force").exit_code == 0
    assert heatsim.load("chip.toml").sources[0].power == 3.0
    quiet = imported("--force", stack=STEADY, plan=PLAN.replace("2, 4", "2, 2"))
    assert "of several powers" not in quiet.stderr


def test_time_ends_with_the_shortest_list_of_powers() -> None:
    plan = PLAN.replace("2000, 3000;", "2000, 3000; power values 1, 1, 1;")
    result = imported(plan=plan)
    assert "blocks have 2 to 3 powers; 2 slots are taken, as by 3D-ICE" in result.stderr
    assert heatsim.load("chip.toml").time.end == pytest.approx(0.2)
    result = imported("--force", plan=PLAN.replace("2000, 3000;", "2000, 3000; power values 1;"))
    assert "2 of 4 blocks have one power, which is taken in all 2 slots" in result.stderr


def test_dies_may_name_layers_that_the_stack_declares() -> None:
    """They were passed over in silence, and a part of the die was missing."""
    stack = STACK.replace("   layer  10 BEOL ;", "   layer BOND ;").replace(
        "   source  2 SILICON ;\n   layer  50", "   source BOND ;\n   layer  50"
    )
    assert imported("--steady", stack=stack).exit_code == 0
    layers = heatsim.load("chip.toml").grid.z.layers  # type: ignore[union-attr]
    assert layers is not None
    assert [layer.thickness for layer in layers] == pytest.approx([100e-6, 2e-6, 20e-6, 20e-6, 50e-6, 20e-6])


def test_floorplans_may_be_named_from_another_folder() -> None:
    Path("plans").mkdir()
    Path("plans/chip.stk").write_text(STACK.replace('"plan.flp"', '"./plan.flp"'))
    Path("plan.flp").write_text(PLAN)
    result = CliRunner().invoke(main, ["import", "plans/chip.stk", "--steady"])
    assert result.exit_code == 0, result.stderr
    assert "names ./plan.flp, which is not beside it: plan.flp is taken" in result.stderr


@pytest.mark.parametrize(
    ("stack", "plan", "message"),
    [
        ("", PLAN, "expected a stack of 3D-ICE, which begins as material NAME :, found 'nothing'"),
        ("A : position 0, 0 ;\n", PLAN, "expected a stack of 3D-ICE, which begins as material NAME :, found 'A :"),
        (STACK.replace("layer  50 SILICON", "layer 50 , SILICON"), PLAN, "die TOP: expected layer or source"),
        (STACK.replace("height 20", "height 1e308"), PLAN, "layer BOND: expected height and a number > 0"),
        (STACK.replace("layer  50 S", "layer  1e308 S"), PLAN, "die TOP: expected a thickness > 0 (um), found 1e308"),
        (STACK, "A : rectangle (0, 0, 4000, 3000) ; power values 1 ;\n", "rectangles cannot be read"),
        (STACK, PLAN.replace("0, 0", "1e308, 0"), "expected a place, and a dimension > 0 (um)"),
    ],
)
def test_what_is_no_stack_says_where_it_is_wrong(stack: str, plan: str, message: str) -> None:
    result = imported(stack=stack, plan=plan)
    assert (result.exit_code, message in result.stderr) == (2, True), result.stderr
