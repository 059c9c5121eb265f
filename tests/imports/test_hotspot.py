"""Scenarios from the files of HotSpot, and the floorplans that they name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from chip_runs import mean_of_block, run
from click.testing import CliRunner, Result

import heatsim
from heatsim.cli.main import main
from heatsim.errors import InputFileError, ScenarioError
from heatsim.geometry.floorplans import read_floorplan
from heatsim.pictures.frames import fit_to_page, plane_materials
from heatsim.pictures.options import PictureOptions
from heatsim.problem import build_problem
from heatsim.store.folder import RunFolder
from heatsim.store.slice_frames import read_slice_frame

PLAN = """\
# name width height left bottom
core\t0.004\t0.010\t0.000\t0.000
cache\t0.006\t0.010\t0.004\t0.000
core cache 1.0
"""
TRACE = "core cache\n10.0 2.0\n6.0 0.0\n"
CONFIG = """\
 -s_sink 0.03 # side, m
-s_spreader 0.02
-r_convec 0.5
-ambient 300
-init_temp 300
-sampling_intvl 0.02
-model_secondary 0
"""
STACK = """\
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
Files = Callable[..., Result]


@pytest.fixture
def imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Files:
    """Write the files, and import them."""
    monkeypatch.chdir(tmp_path)

    def command(*options: str, file: str = "chip.flp", **texts: str) -> Result:
        given = {"chip_flp": PLAN, "chip_ptrace": TRACE, "chip_config": CONFIG} | texts
        for name, text in given.items():
            Path(name.replace("_", ".")).write_text(text)
        return CliRunner().invoke(
            main, ["import", file, "--powers", "chip.ptrace", "--config", "chip.config", *options]
        )

    return command


def test_the_steady_state_of_a_chip_is_that_of_its_mean_powers(imported: Files) -> None:
    result = imported("--steady", "--cells", "12")
    assert result.exit_code == 0, result.output
    assert "chip.toml: 2 blocks" in result.output
    state = run()
    assert state.energy.faces["z_max"] == pytest.approx(-9.0)  # W
    grid, ids = state.problem.grid, state.problem.material_ids()
    assert ids is not None
    assert 0.004 + 0.010 in np.round(grid.faces("x"), 12)  # blocks end where cells do
    assert (ids[0] >= len(state.problem.scenario.materials)).any()  # void beside the die
    hot, cool = (mean_of_block(state, number) for number in range(2))
    assert hot > cool > 300.0 + 9.0 * 0.5
    film = state.problem.scenario.boundary.z_max
    assert film is not None
    assert film.inputs["coefficient"] == pytest.approx(1.0 / (0.5 * 0.03**2))


def test_a_stack_of_one_width_is_a_row_of_resistances(imported: Files) -> None:
    config = CONFIG.replace("0.03", "0.01").replace("s_spreader 0.02", "s_spreader 0.01")
    plan = "all 0.01 0.01 0 0\n"
    assert imported("--steady", chip_flp=plan, chip_ptrace="all\n5\n", chip_config=config).exit_code == 0
    state = run("time.tolerance=1e-9")
    area, die = 1e-4, 0.00015
    resistance = 0.5 + (0.0069 / 400 + 0.001 / 400 + 2e-5 / 4 + die / 100 / 3) / area
    assert mean_of_block(state, 0) == pytest.approx(300.0 + 5.0 * resistance, rel=1e-5)


def test_a_trace_releases_each_power_for_its_interval(imported: Files) -> None:
    assert imported("--cells", "6").exit_code == 0
    state = run("time.integrator=implicit")
    assert state.time == pytest.approx(0.04)
    assert state.energy.sources == pytest.approx((12.0 + 6.0) * 0.02, rel=1e-4)
    again = imported()
    assert again.exit_code != 0
    assert "is there already" in again.output + again.stderr
    assert imported("--force", "--cells", "6").exit_code == 0


def test_layers_may_conduct_upwards_alone_and_blocks_as_they_say(imported: Files) -> None:
    plan = PLAN.replace("0.000\t0.000\n", "0.000\t0.000 2e6 0.02\n", 1)
    result = imported("--steady", file="chip.lcf", chip_flp=plan, chip_lcf=STACK)
    assert result.exit_code == 0, result.output + result.stderr
    problem = build_problem(heatsim.load("chip.toml"))
    materials = problem.scenario.materials
    assert materials["layer_0"].conductivity == 100.0
    assert materials["layer_0_core"].conductivity == 50.0
    assert materials["layer_0_core"].density * materials["layer_0_core"].heat_capacity == 2e6
    interface = materials["layer_1"].conductivity
    assert interface == pytest.approx((4e-6, 4e-6, 4.0))
    names = [*materials]
    assert problem.zones.material((problem.grid.shape[2] // 2 - 8, problem.grid.shape[1] // 2, 0)) == names.index(
        "layer_0_core"
    )


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ({"chip_ptrace": "core cach\n1 2\n"}, "expected the names of blocks that release power, found 'cach'"),
        ({"chip_ptrace": "core\n1\n"}, "expected a column for block 'cache', found 0"),
        ({"chip_ptrace": "core cache\n1\n"}, "line 2: expected 2 powers (W), found 1"),
        ({"chip_ptrace": "core cache\n1 -2\n"}, "line 2: expected a number >= 0, found '-2'"),
        (
            {"chip_flp": PLAN.replace("0.004\t0.000\n", "0.003\t0.000\n")},
            "blocks 'core' and 'cache' overlap by 0.001 m",
        ),
        ({"chip_flp": PLAN.replace("cache\t", "core\t")}, "has more than one block 'core'"),
        ({"chip_flp": "core 1 2\n"}, "expected 1 to 65536 blocks of a floorplan, found 0"),
        ({"chip_flp": "core 1 2 x 4\n"}, "line 1: expected name width height left bottom"),
        ({"chip_config": CONFIG.replace("secondary 0", "secondary 1")}, "a secondary path for heat cannot be imported"),
        (
            {"chip_config": CONFIG.replace("0.02 #", "x").replace("0.03", "x")},
            "line 1: expected a number > 0, found 'x'",
        ),
        ({"chip_config": "-s_sink 0.005"}, "expected a die within the spreader, and that within the sink"),
    ],
)
def test_files_that_cannot_be_imported_say_why(texts: dict[str, str], message: str, imported: Files) -> None:
    result = imported(**texts)
    assert result.exit_code == 2, result.output
    assert message in result.stderr
    assert not Path("chip.toml").exists()


def test_a_floorplan_with_gaps_is_told(imported: Files) -> None:
    result = imported("--steady", chip_flp=PLAN.replace("cache\t0.006\t0.010", "cache\t0.006\t0.005"))
    assert "30 % of the die are in no block" in result.stderr


def test_a_block_of_a_floorplan_is_a_shape(imported: Files) -> None:
    assert imported("--steady").exit_code == 0
    text = Path("chip.toml").read_text()
    Path("other.toml").write_text(text.replace('unit = "core"', 'unit = "cor"', 1))
    with pytest.raises(
        ScenarioError, match=r'expected the name of a block of chip\.flp, found "cor" \(did you mean "core"'
    ):
        build_problem(heatsim.load("other.toml"))
    Path("other.toml").write_text(text.replace('file = "chip.flp"', 'file = "none.flp"', 1))
    with pytest.raises(ScenarioError, match=r"none\.flp: no such file"):
        build_problem(heatsim.load("other.toml"))


def test_floorplans_of_3d_ice_are_read(tmp_path: Path) -> None:
    file = tmp_path / "die.flp"
    file.write_text(
        "Core0 :\n  position 0, 100 ;\n  dimension 4000, 2000.5 ;\n  power values 1.5, 2 ; // W\n"
        "/* a cache */ L2:position 4000, 0; dimension 1e3, 2e3; power values 0.5;\n"
    )
    core, cache = read_floorplan(file)
    assert core.name == "Core0"
    np.testing.assert_allclose(core[1:5], (0.0, 1e-4, 4e-3, 2.1005e-3))
    assert core.powers == (1.5, 2.0)
    np.testing.assert_allclose(cache[1:5], (4e-3, 0.0, 5e-3, 2e-3))
    file.write_text("Core0 : position 0 ; dimension 4000, 2000 ;\n")
    with pytest.raises(InputFileError, match="expected position x, y; and dimension"):
        read_floorplan(file)


def test_pictures_of_a_die_have_the_outlines_of_its_blocks(imported: Files) -> None:
    assert imported("--steady", "--cells", "8").exit_code == 0
    result = CliRunner().invoke(main, ["run", "chip.toml", "--output", "run", "--quiet"])
    assert result.exit_code == 0, result.stderr
    assert list(Path("run/slices").glob("*.png"))
    folder = RunFolder(Path("run"))
    in_die, in_sink = (plane_materials(folder, "z", height) for height in (0.00007, 0.005))
    assert in_die is not None
    assert in_sink is not None
    ids = in_die.ids[:, in_die.ids.shape[1] // 2 - 4 : in_die.ids.shape[1] // 2 + 4]
    assert len(np.unique(ids[ids > 255])) == 2  # core and cache, which are of one material
    assert in_sink.ids.max() < 256
    frame = read_slice_frame(folder.slice_frame_paths("die")[0])
    shown = fit_to_page(frame, PictureOptions(), in_die)[0].extent
    assert shown[0] == pytest.approx(0.01 - 0.0008, abs=0.001)  # the die in the middle of the sink, not all of it
    assert shown[1] - shown[0] < 0.014
    Path("chip.flp").unlink()
    without = plane_materials(folder, "z", 0.00007)
    assert without is not None
    assert without.ids.max() < 256
