"""Scenarios from the stacks of 3D-ICE."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from chip_runs import mean_of_block, run
from click.testing import CliRunner, Result
from helpers.chip_files import ICE_LAYOUT, ICE_PLAN, ICE_PLUGIN, ICE_RECTANGLES, ICE_SPREADER, ICE_STACK, ICE_STEADY
from helpers.in_turn import in_turn

import heatsim
from heatsim.cli.main import main
from heatsim.problem import build_problem


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def imported(*options: str, stack: str = ICE_STACK, plan: str = ICE_PLAN) -> Result:
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
    stack = ICE_STACK.replace("1.3e-4 ;", "1.3e-4, 1e-4, 2e-4 ;").replace(
        '"plan.flp" ;', '"plan.flp" discretization 4 5 ;'
    )
    assert imported("--steady", stack=stack, plan=ICE_PLAN.replace("2, 4 ;", "2, 4 ; material BEOL ;")).exit_code == 0
    problem = build_problem(heatsim.load("chip.toml"))
    assert problem.scenario.materials["SILICON"].conductivity == pytest.approx((130.0, 100.0, 200.0))
    names, source = [*problem.scenario.materials], problem.scenario.sources[0].region
    assert source is not None
    assert source.floorplan is not None
    at = int(np.searchsorted(problem.grid.centres("z"), source.floorplan.z[0]))
    assert [names[problem.zones.material((x, 1, at))] for x in (1, 6)] == ["BEOL", "SILICON"]


@in_turn(
    ("old", "new", "message"),
    [
        ("layer BETWEEN BOND ;", "channel BETWEEN ;", "microchannels cannot be imported"),
        ("layer BETWEEN BOND ;", "layer BETWEEN GLUE ;", "expected a layer or a die that the file declares"),
        ("layer  50 SILICON", "layer  50 GLASS", "expected a material that the file declares, found 'GLASS'"),
        (
            "chip length 4000",
            "chip length 0",
            "line 20: dimensions: expected chip length and width > 0 (um), and below 1e+12, found 0",
        ),
        ("chip length 4000", "chip length 1000", "expected blocks within the chip of the stack"),
        (
            "width 3000",
            "width 1e308",
            "line 20: dimensions: expected chip length and width > 0 (um), and below 1e+12, found 1e308",
        ),
        ("width 3000", "width 1e10", "line 20: chip length, width or cell length: expected at most 20000 cells"),
        ("cell length 500", "cell length 1e-9", "expected at most 20000 cells along an axis, found"),
        ('floorplan "plan.flp"', 'floorplan "none.flp"', "none.flp: no such file"),
        ("   temperature 300 ;", "   temperatur 300 ;", "top heat sink: expected heat transfer coefficient N, or temp"),
        ("temperature 300 ;", "temperature 300 ; temperature 301 ;", "line 9: top heat sink: given twice"),
        (
            "   material BEOL ;",
            '   material BEOL ;\n layout "plan.flp" ;',
            "plan.flp: line 1: neither the stack nor the layout has",
        ),
        ("   material BEOL ;", "", "expected a material that the file declares, found ''"),
        ("top heat sink :", "top heatsink :", "line 7: expected a stack of 3D-ICE, which begins as material NAME :"),
    ],
)
def test_stacks_that_cannot_be_imported_say_why(old: str, new: str, message: str) -> None:
    result = imported(stack=ICE_STACK.replace(old, new))
    assert result.exit_code == 2, result.output
    assert message in result.stderr


def test_a_floorplan_of_hotspot_needs_its_powers() -> None:
    Path("chip.flp").write_text("core 1 1 0 0\n")
    result = CliRunner().invoke(main, ["import", "chip.flp"])
    assert result.exit_code == 2
    assert "give the powers of its blocks" in result.stderr


def test_a_steady_stack_has_its_first_powers() -> None:
    """As 3D-ICE has; `--steady` of a stack in time has the means."""
    result = imported(stack=ICE_STEADY)
    assert "of several powers the first is taken, as 3D-ICE does where the solver is steady" in result.stderr
    assert [source.power for source in heatsim.load("chip.toml").sources] == [2.0, 0.0, 2.0, 0.0]
    assert imported("--steady", "--force").exit_code == 0
    assert heatsim.load("chip.toml").sources[0].power == 3.0
    quiet = imported("--force", stack=ICE_STEADY, plan=ICE_PLAN.replace("2, 4", "2, 2"))
    assert "of several powers" not in quiet.stderr


def test_time_ends_with_the_shortest_list_of_powers() -> None:
    plan = ICE_PLAN.replace("2000, 3000;", "2000, 3000; power values 1, 1, 1;")
    result = imported(plan=plan)
    assert "blocks have 2 to 3 powers; 2 slots are taken, as by 3D-ICE" in result.stderr
    assert heatsim.load("chip.toml").time.end == pytest.approx(0.2)
    result = imported("--force", plan=ICE_PLAN.replace("2000, 3000;", "2000, 3000; power values 1;"))
    assert "2 of 4 blocks have one power, which is taken in all 2 slots" in result.stderr


def test_dies_may_name_layers_that_the_stack_declares() -> None:
    """They were passed over in silence, and a part of the die was missing."""
    stack = ICE_STACK.replace("   layer  10 BEOL ;", "   layer BOND ;").replace(
        "   source  2 SILICON ;\n   layer  50", "   source BOND ;\n   layer  50"
    )
    assert imported("--steady", stack=stack).exit_code == 0
    layers = heatsim.load("chip.toml").grid.z.layers  # type: ignore[union-attr]
    assert layers is not None
    assert [layer.thickness for layer in layers] == pytest.approx([100e-6, 2e-6, 20e-6, 20e-6, 50e-6, 20e-6])


def test_floorplans_may_be_named_from_another_folder() -> None:
    Path("plans").mkdir()
    Path("plans/chip.stk").write_text(ICE_STACK.replace('"plan.flp"', '"./plan.flp"'))
    Path("plan.flp").write_text(ICE_PLAN)
    result = CliRunner().invoke(main, ["import", "plans/chip.stk", "--steady"])
    assert result.exit_code == 0, result.stderr
    assert "names ./plan.flp, which is not beside it: plan.flp is taken" in result.stderr


@in_turn(
    ("stack", "plan", "message"),
    [
        ("", ICE_PLAN, "expected a stack of 3D-ICE, which begins as material NAME :, found nothing"),
        ("A : position 0, 0 ;\n", ICE_PLAN, "expected a stack of 3D-ICE, which begins as material NAME :, found 'A'"),
        (ICE_STACK.replace("layer  50 SILICON", "layer 50 , SILICON"), ICE_PLAN, "die TOP: expected layer or source"),
        (
            ICE_STACK.replace("height 20", "height 1e308"),
            ICE_PLAN,
            "line 11: layer BOND: expected height > 0 (um), and below",
        ),
        (
            ICE_STACK.replace("layer  50 S", "layer  1e308 S"),
            ICE_PLAN,
            "die TOP: expected a thickness > 0 (um), found 1e308",
        ),
        (
            ICE_STACK,
            "A : position 0, 0 ; power values 1 ;\n",
            "line 1: block 'A': expected position x, y; and dimension",
        ),
        (ICE_STACK, ICE_PLAN.replace("values 2", "value 2"), "plan.flp: line 1: block 'A': expected position x, y;"),
        (ICE_STACK, ICE_PLAN.replace("0, 0", "1e308, 0"), "expected a place, and a dimension > 0 (um)"),
        (
            ICE_STACK,
            ICE_PLAN + "C : rectangle (0, 0, 0, 1) ; power values 1 ;\n",
            "'C': expected an area, since it has",
        ),
    ],
)
def test_what_is_no_stack_says_where_it_is_wrong(stack: str, plan: str, message: str) -> None:
    result = imported(stack=stack, plan=plan)
    assert (result.exit_code, message in result.stderr) == (2, True), result.stderr


def test_a_block_may_be_several_rectangles() -> None:
    empty = ICE_RECTANGLES.replace("rectangle", "rectangle (0, 0, 0, 1500) ; rectangle", 1)  # as if it were not there
    assert imported("--steady", plan=empty).exit_code == 0
    state = run()
    assert state.energy.faces["z_max"] == pytest.approx(-6.0)
    names = [region.name for region in state.problem.scenario.output.regions]
    assert names == ["LOWER_A", "LOWER_B", "UPPER_A", "UPPER_B"]
    volume = float(state.problem.statistics_regions[0].cells.volumes.sum())
    assert volume == pytest.approx((2e-3 * 1.5e-3 + 1e-3 * 1.5e-3) * 2e-6)


def test_spreaders_and_sinks_are_in_cells_and_layouts_in_their_layers() -> None:
    Path("bond.lay").write_text(ICE_LAYOUT)
    assert imported(stack=ICE_SPREADER, plan=ICE_RECTANGLES).exit_code == 0
    state = run()
    problem, power = state.problem, 2 * 2.0
    assert sum(state.energy.faces[face] for face in ("z_min", "z_max")) == pytest.approx(-power)
    names, grid = [*problem.scenario.materials], problem.grid

    def material(x: float, y: float, z: float) -> str:
        x, y = x + 3e-3, y + 3.5e-3  # the chip is in the middle of a sink of 10 mm
        place = zip("xyz", (x, y, z), strict=True)
        number = problem.zones.material(tuple(int(np.searchsorted(grid.faces(axis), at)) - 1 for axis, at in place))
        return names[number] if number < len(names) else "void"

    bond = 100e-6 + 2e-6 + 10e-6 + 10e-6
    assert [material(x, 0.4e-3, bond) for x in (0.4e-3, 1.4e-3, 2.4e-3)] == ["SILICON", "COPPER", "BEOL"]
    top = 100e-6 + 12e-6 + 20e-6 + 52e-6
    places = [(-1e-3, top + 5e-4), (-1e-3, top - 1e-5), (-2.5e-3, top + 5e-4), (-2.5e-3, top + 5e-3)]
    assert [material(x, 0.4e-3, z) for x, z in places] == ["BEOL", "void", "void", "SILICON"]


def test_a_sink_that_is_a_program_needs_what_it_stands_for() -> None:
    result = imported(stack=ICE_PLUGIN)
    assert result.exit_code == 2
    assert "line 7: top pluggable heat sink: plugin 'sink.so': a heat sink that is a program cannot" in result.stderr
    assert (
        imported("--steady", "--sink-coefficient", "2000", "--sink-temperature", "290", stack=ICE_PLUGIN).exit_code == 0
    )
    scenario = heatsim.load("chip.toml")
    film = scenario.boundary.z_max
    assert film is not None
    assert (film.inputs["coefficient"], film.inputs["ambient"]) == (2000.0, 290.0)
    assert run().energy.faces["z_max"] == pytest.approx(-6.0)
    told = imported("--force", "--sink-coefficient", "2000")
    assert "the stack has no heat sink in a plugin" in told.stderr
    told = imported("--force", "--sink-temperature", "290", stack=ICE_PLUGIN)
    assert "give --sink-coefficient, too" in told.stderr
