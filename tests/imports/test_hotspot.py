"""Scenarios from the files of HotSpot, and the floorplans that they name."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from chip_runs import mean_of_block, run
from click.testing import CliRunner, Result
from helpers.chip_files import CONFIG, LAYERS, MATERIALS, PLAN, START, TRACE
from helpers.in_turn import in_turn

import heatsim
from heatsim.base.grid import cell_index
from heatsim.cli.main import main
from heatsim.errors import InputFileError, ScenarioError
from heatsim.output.pictures.frames import fit_to_page, plane_materials
from heatsim.output.pictures.options import PictureOptions
from heatsim.problem import build_problem
from heatsim.problem.shapes.floorplans import read_plan
from heatsim.scenario.loading import loads
from heatsim.solve.integrators import make_field
from heatsim.solve.state import State
from heatsim.store.folder import RunFolder
from heatsim.store.slice_frames import read_slice_frame
from heatsim.studies.imports import scenarios

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
    result = imported("--steady", file="chip.lcf", chip_flp=plan, chip_lcf=LAYERS)
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


@in_turn(
    ("texts", "message"),
    [
        ({"chip_ptrace": "core cach\n1 2\n"}, "expected the names of blocks that release power, found 'cach'"),
        ({"chip_ptrace": "core\n1\n"}, "expected a column for block 'cache', found 0"),
        ({"chip_ptrace": "core cache\n1\n"}, "line 2: expected 2 powers (W), found 1"),
        ({"chip_ptrace": "core cache\n1 -2\n"}, "line 2: expected a number >= 0, found '-2'"),
        ({"chip_flp": PLAN.replace("cache\t", "core\t")}, "has more than one block 'core'"),
        ({"chip_flp": "core 1 2\n"}, "expected 1 to 65536 blocks of a floorplan, found 0"),
        ({"chip_flp": "core 1 2 x 4\n"}, "line 1: expected name width height left bottom"),
        (
            {"chip_config": CONFIG + "-use_microchannels 1"},
            "line 8: -use_microchannels: microchannels cannot be imported",
        ),
        (
            {"chip_config": CONFIG.replace("secondary 0", "secondary 1\n-s_sub 0.009")},
            "expected a die within the substrate: s_sub, 0.009 m, is less than the 0.01 m of the die",
        ),
        ({"chip_config": CONFIG + "-leakage_used 1\n-leakage_mode 1"}, "-leakage_mode: HotLeakage cannot be imported"),
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
    core, cache = read_plan(file).blocks
    assert core.name == "Core0"
    np.testing.assert_allclose(core[1:5], (0.0, 1e-4, 4e-3, 2.1005e-3))
    assert core.powers == (1.5, 2.0)
    np.testing.assert_allclose(cache[1:5], (4e-3, 0.0, 5e-3, 2e-3))
    file.write_text("Core0 : position 0 ; dimension 4000, 2000 ;\n")
    with pytest.raises(InputFileError, match="line 1: block 'Core0': expected position x, y; dimension"):
        read_plan(file)


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


NAMED = CONFIG + "-material_chip silicon\n-material_sink aluminum\n-k_sink 400\n"


def test_materials_of_a_configuration_are_those_of_their_file(imported: Files) -> None:
    told = imported("--steady", chip_config=NAMED)
    assert told.exit_code == 2
    assert "chip.config: line 8: names the material 'silicon': give the file of its materials" in told.stderr
    Path("m.materials").write_text(MATERIALS)
    assert imported("--steady", "--cells", "6", "--materials", "m.materials", chip_config=NAMED).exit_code == 0
    made = heatsim.load("chip.toml").materials
    assert (made["sink"].conductivity, made["die"].conductivity, made["spreader"].conductivity) == (237.0, 130.0, 400.0)
    assert made["sink"].density * made["sink"].heat_capacity == pytest.approx(2.422e6)
    named = NAMED + "-materials_file m.materials\n"
    assert imported("--force", "--steady", "--cells", "6", chip_config=named).exit_code == 0
    assert heatsim.load("chip.toml").materials["sink"].conductivity == 237.0
    told = imported("--force", chip_config=named.replace("aluminum", "aluminium"))
    assert "line 9: the file of materials has no 'aluminium' (did you mean \"aluminum\"?)" in told.stderr
    Path("m.materials").write_text(MATERIALS.replace("237.0\n", ""))
    told = imported("--force", chip_config=named)
    assert "m.materials: line 14: expected the heat capacity, J/(m3 K), of the material after it" in told.stderr


def test_what_a_configuration_does_not_say_is_as_in_hotspot(imported: Files) -> None:
    """The defaults of HotSpot's `temperature.c`."""
    assert imported("--cells", "6", chip_config="-model_type block\n").exit_code == 0
    scenario = heatsim.load("chip.toml")
    assert scenario.materials["die"].conductivity == 100.0
    assert scenario.time.end == pytest.approx(2 * 3.333e-6)
    assert scenario.initial.temperature == 333.15


def test_what_is_left_out_of_a_configuration_is_told(imported: Files) -> None:
    config = CONFIG + "-block_omit_lateral 1\n-s_snk 0.02\n-ambient 310\n-init_file a.init\n-grid_layer_file chip.lcf\n"
    result = imported("--cells", "6", chip_config=config.replace("-r_convec 0.5", "-R_convec 0.25"))
    assert result.exit_code == 0, result.stderr
    for note in (
        "line 8: -block_omit_lateral: heat flows along the die and the interface here",
        '-s_snk is no key of HotSpot\'s, and is left out (did you mean "s_sink"?)',
        "-ambient is given in line 4, which is taken",
        "there is no init_file a.init; all start at 300 K",
        "names the layers chip.lcf, which HotSpot takes in place of chip.flp",
        "c_convec, 140.4 J/K between the sink and the ambient, is left out: the sink warms with its own 22.05 J/K",
    ):
        assert note in result.stderr
    film = heatsim.load("chip.toml").boundary.z_max
    assert film is not None
    assert film.inputs["coefficient"] == pytest.approx(1.0 / (0.25 * 0.03**2))
    assert film.inputs["ambient"] == 300.0
    quiet = imported("--force", "--steady", "--cells", "6")
    assert not quiet.stderr


def test_a_chip_starts_at_the_temperatures_of_its_nodes(imported: Files) -> None:
    """Nodes are 310 K and on, by 1 K each: blocks of die, interface, spreader, sink; then W, E, N, S of the spreader,
    of the sink within it, and of the sink beyond it."""
    start = START.replace("\n", "\n# a comment\n\n", 1)
    config = CONFIG + "-init_file a.init\n"
    result = imported("--cells", "8", chip_config=config, a_init=start)
    assert (result.exit_code, "init_file" in result.stderr) == (0, False), result.stderr
    problem = build_problem(heatsim.load("chip.toml"))
    found = State(problem, make_field(problem, "cpu")).temperature()
    places = {  # from the middle, mm, and the height
        (-4, 0, 0.1): 310, (3, 0, 0.1): 311, (-4, 0, 0.16): 312, (3, 4, 0.5): 315, (-4, -4, 5.0): 316,
        (-8, 1, 0.5): 318, (8, 1, 0.5): 319, (1, 8, 0.5): 320, (1, -8, 0.5): 321,
        (-8, 1, 5.0): 322, (8, 1, 5.0): 323, (1, 8, 5.0): 324, (1, -8, 5.0): 325,
        (-13, 1, 5.0): 326, (13, 1, 5.0): 327, (1, 13, 5.0): 328, (1, -13, 5.0): 329,
    }  # fmt: skip
    for (x, y, z), expected in places.items():
        at = [
            cell_index(problem.grid, axis, 1e-3 * place) for axis, place in zip("zyx", (z, y + 15, x + 15), strict=True)
        ]
        assert found[tuple(at)] == pytest.approx(expected, abs=1e-3), (x, y, z)
    for text, message in (
        (START.replace("hsp_core", "hsp_gpu"), "a.init: has no temperature of 'hsp_core', a node of this chip"),
        (START.replace("310.0", "-310.0"), "a.init: line 1: expected a number > 0, found '-310.0'"),
        (START.replace(" 310.0", ""), "a.init: line 1: expected a node and its temperature (K), found 'core'"),
    ):
        told = imported("--force", chip_config=config, a_init=text)
        assert (told.exit_code, message in told.stderr) == (2, True), told.stderr


def test_layers_are_in_the_order_of_their_numbers_and_may_name_materials(imported: Files) -> None:
    first, second = LAYERS[: LAYERS.index("1\nN")], LAYERS[LAYERS.index("1\nN") :]
    first = first.replace("1.6e6\n0.01\n", "silicon\n").replace("Y\nY", "y\nY")
    Path("m.materials").write_text(MATERIALS)
    result = imported(
        *("--steady", "--cells", "6", "--materials", "m.materials"), file="chip.lcf", chip_lcf=second + first
    )
    assert result.exit_code == 0, result.stderr
    scenario = heatsim.load("chip.toml")
    assert scenario.materials["layer_0"].conductivity == 130.0
    regions = {region.material: region.box for region in scenario.regions if region.box}
    assert regions["layer_0"].upper[2] == regions["layer_1"].lower[2] == pytest.approx(0.0002)
    told = imported("--force", file="chip.lcf", chip_lcf=LAYERS.replace("1\nN", "0\nN"))
    assert "there is a layer 0 already" in told.stderr
    told = imported("--force", file="chip.lcf", chip_lcf=LAYERS.replace("1\nN", "5\nN"))
    assert "expected layers from 0 to 1, found 0, 5" in told.stderr


@pytest.mark.parametrize(("trace", "powers"), [("core cache cache core\n1 2 3 4\n", [1, 2, 4, 3])])
def test_columns_of_blocks_of_one_name_come_layer_by_layer(trace: str, powers: list[float], imported: Files) -> None:
    stack = LAYERS.replace("N\nN", "N\nY")
    result = imported("--steady", "--cells", "6", file="chip.lcf", chip_lcf=stack, chip_ptrace=trace)
    assert result.exit_code == 0, result.stderr
    scenario = heatsim.load("chip.toml")
    assert [source.power for source in scenario.sources] == powers
    names = ["layer_0_core", "layer_0_cache", "layer_1_core", "layer_1_cache"]
    assert [region.name for region in scenario.output.regions] == names
    told = imported("--force", file="chip.lcf", chip_lcf=stack, chip_ptrace="core core cache cache\n1 2 3 4\n")
    assert (
        "expected the 2 blocks of layer_0 from column 1 on, since layers have blocks of one name; 'cache' is"
        in told.stderr
    )


def test_files_are_read_as_programs_and_editors_leave_them(imported: Files) -> None:
    """A degree sign of Latin-1, and paths from the folder where HotSpot was started."""
    assert imported("--steady", "--cells", "6").exit_code == 0
    Path("chip.config").write_bytes(b"-r_convec 0.1 # at 25 \xb0C\r\n")
    words = "--powers", "chip.ptrace", "--config", "chip.config", "--steady", "--cells", "6", "--force"
    assert CliRunner().invoke(main, ["import", "chip.flp", *words]).exit_code == 0
    Path("config/plans").mkdir(parents=True)
    Path("config/plans/chip.flp").write_text(PLAN)
    Path("config/chip.lcf").write_text(LAYERS.replace("chip.flp", "config/plans/chip.flp"))
    result = CliRunner().invoke(main, ["import", "config/chip.lcf", *words])
    assert result.exit_code == 0, result.stderr
    assert "names config/plans/chip.flp, which is not beside it: config/plans/chip.flp is taken" in result.stderr
    assert heatsim.load("config/chip.toml").sources[0].region.floorplan.file.is_file()  # type: ignore[union-attr]


def test_blocks_without_area_are_left_out_unless_they_have_power(imported: Files) -> None:
    plan, trace = PLAN.replace("core cache", "fill 0.004 0 0 0.01\ncore cache"), "core cache fill\n1 2 0\n"
    result = imported("--steady", "--cells", "6", chip_flp=plan, chip_ptrace=trace)
    assert "chip.flp: block fill is without an area: left out" in result.stderr
    assert [region.name for region in heatsim.load("chip.toml").output.regions] == ["core", "cache"]
    told = imported("--force", "--steady", chip_flp=plan, chip_ptrace=trace.replace("2 0", "2 3"))
    assert told.exit_code == 2
    assert "block 'fill' has no area, but releases up to 3 W" in told.stderr


@pytest.mark.parametrize(
    ("plan", "name", "edge"),
    [
        ("a 0.0015 0.0015 0 0\nb 0.0015 0.0015 0.00149 0\n", "b", {"left": 0.0015}),
        ("a 0.0015 0.0015 0 0\nb 0.0015 0.0015 0 0.00149\n", "b", {"bottom": 0.0015}),
        ("b 0.0015 0.0015 0 0.00149\na 0.0015 0.0015 0 0\n", "a", {"top": 0.00149}),
    ],
)
def test_blocks_that_overlap_by_rounding_are_cut(plan: str, name: str, edge: dict[str, float], imported: Files) -> None:
    result = imported("--steady", "--cells", "8", chip_flp=plan, chip_ptrace="a b\n1 1\n")
    assert f"chip.flp: block {name} is cut where others overlap by up to 1e-05 m" in result.stderr
    block = next(block for block in read_plan(Path("chip.flp")).blocks if block.name == name)
    assert {key: getattr(block, key) for key in edge} == pytest.approx(edge)
    assert run().energy.faces["z_max"] == pytest.approx(-2.0)  # no power is lost
    warnings = build_problem(heatsim.load("chip.toml")).warnings()
    assert [f"block {name} is cut" in str(each) for each in warnings] == [True]  # of all shapes that name the file


@in_turn(
    ("texts", "message"),
    [
        ({"chip_config": CONFIG.replace("0.03", "1e308")}, "line 1: expected a number from 1e-30 to 1e+30"),
        ({"chip_config": "t_chip 0.0001\n"}, "line 1: expected a key and its value, such as -r_convec 0.1"),
        ({"chip_config": "-t_chip\n"}, "line 1: expected a key and its value"),
        ({"chip_flp": "core 1e308 1e308 1e308 0\n"}, "line 1: expected sizes and a resistivity > 0"),
        ({"chip_flp": "core 1 1 0 0 -1 1\n"}, "line 1: expected a heat capacity > 0"),
        ({"chip_flp": "core 1 1 nan 0\n"}, "line 1: expected sizes"),
    ],
)
def test_numbers_that_no_chip_has_are_refused_at_their_line(
    texts: dict[str, str], message: str, imported: Files
) -> None:
    result = imported(**texts)
    assert (result.exit_code, message in result.stderr) == (2, True), result.stderr


@pytest.mark.parametrize("options", [("--steady",), ()])
def test_many_blocks_are_one_source_and_as_warm_as_one_by_one(
    options: tuple[str, ...], imported: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Blocks 4 and 5 overlap, and each releases its power over all of its area."""
    plan = "".join(f"u{n} {0.002 if n == 4 else 0.001} 0.001 {n % 3 * 0.001} {n // 3 * 0.001}\n" for n in range(9))
    trace = "\t".join(f"u{n}" for n in range(9)) + "".join(
        "\n" + "\t".join(f"{(n * row) % 5}" for n in range(9)) for row in (1, 2, 3)
    )
    found = []
    for most in (1000, 4):
        monkeypatch.setattr(scenarios, "MOST_NAMED", most)
        result = imported("--force", "--cells", "6", *options, chip_flp=plan, chip_ptrace=trace)
        assert result.exit_code == 0, result.output
        assert "9 blocks" in result.output
        state = run(*([] if options else ["time.integrator=implicit", "time.tolerance=1e-5"]))
        found.append([*(mean_of_block(state, number) for number in range(9)), 300 + state.energy.sources])
        assert len(state.problem.statistics_regions) == 9
    assert max(found[0]) - min(found[0][:9]) > 1.0
    assert found[1] == pytest.approx(found[0], abs=2e-3)
    assert len(heatsim.load("chip.toml").sources) == 1


def test_a_trace_of_more_than_a_thousand_slots_keeps_its_times(imported: Files) -> None:
    """Times with nine digits would join the end of slot 1001 and the start of the next."""
    result = imported(
        "--cells",
        "4",
        chip_ptrace="core cache\n" + "1 2\n2 1\n" * 600,
        chip_config=CONFIG.replace("intvl 0.02", "intvl 3.333e-6"),
    )
    assert (result.exit_code, result.stderr.count("c_convec")) == (0, 1), result.output
    times = np.loadtxt("chip.powers.csv", delimiter=",", skiprows=1)[:, 0]
    assert (np.diff(times) > 0).all()


def test_blocks_of_equal_own_values_are_one_material(imported: Files) -> None:
    """300 blocks, half of them as channels are; and one with a heat capacity alone of its own."""

    def plan(resistivity: Callable[[int], float]) -> str:
        return "".join(f"u{n} 1e-4 1e-3 {n * 1e-4} 0 1.75e6 {resistivity(n)}\n" for n in range(300))

    trace = " ".join(f"u{n}" for n in range(300)) + "\n" + " 1" * 300 + "\n"
    wide = CONFIG.replace("0.03", "0.06").replace("s_spreader 0.02", "s_spreader 0.05")
    few = plan(lambda n: 0.01 if n % 2 else 1.6).replace("1.75e6", "4e6", 1)
    options = "--steady", "--cells", "4"
    result = imported(*options, chip_flp=few, chip_ptrace=trace, chip_config=wide)
    assert result.exit_code == 0, result.output
    found = heatsim.load("chip.toml")
    own = [name for name in found.materials if name.startswith("die_u")]
    assert own == ["die_u0", "die_u2"]
    assert (found.materials["die_u0"].heat_capacity, found.materials["die_u2"].heat_capacity) == (4000.0, 1750.0)
    result = imported("--force", *options, chip_flp=plan(lambda n: 0.02 + n), chip_ptrace=trace, chip_config=wide)
    assert result.exit_code == 2
    assert "has blocks of 300 pairs of heat capacity and resistivity, but a scenario has at most 255" in result.stderr


@pytest.mark.parametrize(
    ("powers", "message"),
    [
        ("block,power [W]\ncore,1\n", 'expected a power for block "cache", found none'),
        ("block,power [W]\ncore,1\ncache,2\ncache,2\n", 'block "cache" has more than one power'),
        ("block,power [W]\ncore,1\ncache,2\nl3,2\n", 'block "l3" is none of the floorplan'),
        ("block,power [m]\ncore,1\ncache,2\n", 'expected power in W, found "m"'),
        ("block,power\ncore,1\ncache,one\n", 'expected a number, found "one"'),
        ("core,cache\n1,2\n", "expected the columns block, power [W], or time [s] and blocks"),
        ("time [s],core,cache\n0,1,2\n", "expected at least two rows, found one"),
        ("time [s],core,cache\n1,1,2\n0,1,2\n", "expected a time after 1 (s), found 0"),
    ],
)
def test_a_table_of_powers_that_is_none_says_why(powers: str, message: str, imported: Files) -> None:
    assert imported("--steady", "--cells", "6").exit_code == 0
    Path("p.csv").write_text(powers)
    text = Path("chip.toml").read_text()
    source = 'powers = "p.csv"\nregion.floorplan = { file = "chip.flp", z = [0.0, 0.00015], at = [0.01, 0.01] }\n'
    scenario = loads(f"{text[: text.index('[[sources]]')]}[[sources]]\n{source}", Path("chip.toml"))
    with pytest.raises(ScenarioError, match=re.escape(message)):
        build_problem(scenario)


def test_a_floorplan_that_is_no_file_is_not_waited_for(imported: Files) -> None:
    os.mkfifo("pipe.flp")
    result = imported(file="chip.lcf", chip_lcf=LAYERS.replace("chip.flp", "pipe.flp"))
    assert (result.exit_code, "pipe.flp: is not a file" in result.stderr) == (2, True)


EVEN = """\
-s_sink 0.01
-s_spreader 0.01
-s_sub 0.01
-s_solder 0.01
-s_pcb 0.01
-k_chip 1e6
-r_convec 2
-r_convec_sec 3
-ambient 300
"""


@pytest.mark.parametrize("stack", ["chip.flp", "chip.lcf"])
def test_heat_leaves_below_the_die_and_blocks_leak(stack: str, imported: Files) -> None:
    """Two rows of resistances, with HotSpot's own conductivities below the die, and its leakage at one temperature."""
    config = EVEN + "-model_secondary 1\n-leakage_used 1\n"
    layers = LAYERS.replace("N\nN", "Y\nN").replace("0.01\n0.0002", "1e-6\n0.0002")
    files = {"chip_flp": "all 0.01 0.01 0.002 -0.003\n", "chip_ptrace": "all\n20\n", "chip_lcf": layers}
    assert imported("--steady", "--cells", "4", file=stack, chip_config=config, **files).exit_code == 0
    state, area = run("time.tolerance=1e-9"), 1e-4
    up = 2.0 + (0.0069 / 400 + 0.001 / 400 + 2e-5 / 4) / area
    own = 0.0 if stack == "chip.lcf" else 1e-4 * 0.8 + 1e-5 * 0.0025  # C4 and metal: layers of a file have their own
    down = 3.0 + (0.002 * 0.333 + 0.00094 * 0.06 + 0.001 * 0.5 + own) / area
    hot = mean_of_block(state, 0)
    leakage = 1.5e4 * area * np.exp(0.036 * (hot - 383.15))
    assert hot - 300.0 == pytest.approx((20.0 + leakage) * up * down / (up + down), rel=1e-4)
    assert state.energy.faces["z_min"] == pytest.approx(-(hot - 300.0) / down, rel=1e-4)


def test_a_board_wider_than_the_sink_and_layers_without_a_thickness(imported: Files) -> None:
    config = CONFIG.replace("secondary 0", "secondary 1") + "-s_pcb 0.05\n-t_metal 1e-100\n-r_convec_sec 1\n"
    result = imported("--steady", "--cells", "4", chip_config=config)
    assert "chip.config: t_metal: too thin for a layer, left out" in result.stderr
    state = run()
    below, above = (state.energy.faces[face] for face in ("z_min", "z_max"))
    assert below + above == pytest.approx(-9.0)
    assert below < -0.3
    boxes = {region.material: region.box for region in state.problem.scenario.regions if region.box}
    assert boxes["sink"].lower[0] == pytest.approx(0.01)
    assert boxes["pcb"].upper[0] == pytest.approx(0.05)


@pytest.mark.parametrize(
    ("package", "resistance"),
    [  # as HotSpot 7 prints it
        ("-sink_type 0\n", 0.232859),
        ("-sink_type 0\n-rpm 5000\n", 0.169996),
        ("-sink_type 1\n", 0.117344),
        ("-flow_type 1\n", 0.448462),
        ("-flow_type 1\n-sink_type 1\n-rpm 3000\n", 0.524071),
        ("-natural_convec 1\n", 1.90629),  # 0.01 K above the ambient, where it begins
        ("-natural_convec 1\n-sink_type 1\n", 11.7423),
    ],
)
def test_a_sink_with_fins_cools_as_hotspot_says(package: str, resistance: float, imported: Files) -> None:
    Path("package.config").write_text(package)
    config = "-package_model_used 1\n-package_config_file package.config\n"
    result = imported("--steady", "--cells", "4", chip_config=config)
    assert result.exit_code == 0, result.stderr
    film = heatsim.load("chip.toml").boundary.z_max
    assert film is not None
    coefficient = film.inputs["coefficient"]
    if "natural" not in package:
        assert f"r_convec is {resistance:.4g} K/W by the package model" in result.stderr
        assert 1.0 / (coefficient * 0.06**2) == pytest.approx(resistance, rel=1e-5)  # type: ignore[operator]
    else:
        assert "follows the sink's temperature" in result.stderr
        start = float(coefficient(T=318.16))  # type: ignore[operator]
        assert 1.0 / (start * 0.06**2) == pytest.approx(resistance, rel=1e-5)
    told = imported("--force", chip_config=config.replace("package.config", "chip.ptrace"))
    assert "chip.ptrace: line 1: expected a key and its value" in told.stderr


def test_blocks_that_overlap_release_their_power_each(imported: Files) -> None:
    """HotSpot warns, and goes on."""
    plan = PLAN.replace("0.004\t0.000\n", "0.003\t0.000\n")
    result = imported("--steady", "--cells", "10", chip_flp=plan)
    told = "blocks 'core' and 'cache' overlap by 0.001 m x 0.01 m: each releases its power over all of its area"
    assert told in result.stderr
    assert run().energy.faces["z_max"] == pytest.approx(-9.0)


def test_large_floorplans_are_read_soon(tmp_path: Path) -> None:
    """16384 blocks, as of OpenROAD."""
    side = 128
    lines = (f"b{i}_{j} 1e-5 1e-5 {1e-5 * i:.9g} {1e-5 * j:.9g}" for i in range(side) for j in range(side))
    (tmp_path / "large.flp").write_text("\n".join(lines))
    assert len(read_plan(tmp_path / "large.flp").blocks) == side**2


def test_floorplans_of_layers_may_begin_at_unlike_places(imported: Files) -> None:
    """HotSpot moves each to 0."""
    layers = LAYERS.replace("N\nN", "N\nY").replace("2e-5\nchip.flp", "2e-5\nother.flp")
    Path("other.flp").write_text("all 0.01 0.01 0.5 -0.5\n")
    trace = "core cache all\n1 2 3\n"
    assert imported("--steady", "--cells", "6", file="chip.lcf", chip_lcf=layers, chip_ptrace=trace).exit_code == 0
    assert run().energy.faces["z_max"] == pytest.approx(-6.0)
    Path("other.flp").write_text("all 0.01 0.02 0 0\n")
    told = imported("--force", file="chip.lcf", chip_lcf=layers, chip_ptrace=trace)
    assert "other.flp: expected a floorplan as large as that of the first layer, found 0.01 m x 0.02 m" in told.stderr
