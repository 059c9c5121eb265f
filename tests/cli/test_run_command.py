"""`heatsim run`: what it prints where, what it writes, and its options."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from helpers.commands import BLOCK, SMALL, Heatsim, Invoke, contents, messages
from helpers.in_turn import in_turn

Write = Callable[..., Path]

STEP_TOO_LONG = ("--set", "time.integrator=euler", "--set", "time.step=100")


def test_a_run_leaves_exactly_the_documented_files_and_its_summary_on_stdout(
    heatsim: Heatsim, write: Write, tmp_path: Path
) -> None:
    write(BLOCK)
    done = heatsim("run", "case.toml")
    assert done.returncode == 0, done.stderr
    assert not messages(done.stderr)
    for row in ("state", "steps", "wall time", "rate", "energy residual", "results"):
        assert f"\n{row} " in f"\n{done.stdout}", row
    assert "finished at t = 4 s" in done.stdout
    assert "stability limit" in done.stdout
    assert "outputs/case" in done.stdout.splitlines()[-1]
    folder = tmp_path / "outputs" / "case"
    expected = {
        "run.json",
        "run.log",
        "run.vtkhdf",
        "geometry.h5",
        "checkpoint.h5",
        "scenario.toml",
        "probes.csv",
        "energy.csv",
    }
    expected |= {f"snapshots/{i:06d}.h5" for i in range(5)}
    expected |= {f"slices/z_0.016/{i:06d}.h5" for i in range(3)} | {f"slices/z_0.016_{i:06d}.png" for i in range(3)}
    assert set(contents(folder)) == expected
    assert {path.name for path in tmp_path.iterdir()} == {"case.toml", "outputs"}


def test_json_is_all_that_is_on_stdout(heatsim: Heatsim, write: Write) -> None:
    write(SMALL)
    done = heatsim("run", "case.toml", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["state"], told["time"], told["folder"]) == ("finished", 1.0, "outputs/case")


def test_quiet_prints_nothing(invoke: Invoke, write: Write) -> None:
    write(SMALL)
    done = invoke("run", "case.toml", "--quiet")
    assert (done.exit_code, done.stdout, done.stderr) == (0, "", "")


def test_output_names_the_folder_with_its_parents(invoke: Invoke, write: Write, tmp_path: Path) -> None:
    write(SMALL)
    assert invoke("run", "case.toml", "--quiet", "--output", "a/b c/run").exit_code == 0
    assert (tmp_path / "a" / "b c" / "run" / "run.json").is_file()
    assert not (tmp_path / "outputs").exists()


def test_an_earlier_run_is_left_as_it_is_unless_forced(invoke: Invoke, write: Write, tmp_path: Path) -> None:
    write(SMALL)
    assert invoke("run", "case.toml", "--quiet").exit_code == 0
    folder = tmp_path / "outputs" / "case"
    before = contents(folder)
    refused = invoke("run", "case.toml", "--set", "time.end=2")
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert len(messages(refused.stderr)) == 1
    assert "--force" in refused.stderr
    assert contents(folder) == before
    assert invoke("run", "case.toml", "--quiet", "--force", "--set", "time.end=2").exit_code == 0
    assert json.loads((folder / "run.json").read_text())["time"] == 2.0


def test_force_does_not_touch_a_folder_that_is_no_run(invoke: Invoke, write: Write, tmp_path: Path) -> None:
    write(SMALL)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("ten years of work")
    refused = invoke("run", "case.toml", "--output", "mine", "--force")
    assert refused.exit_code == 2
    assert contents(tmp_path / "mine") == {"thesis.tex": b"ten years of work"}


def test_force_keeps_files_that_are_not_heatsims(invoke: Invoke, write: Write, tmp_path: Path) -> None:
    write(SMALL)
    assert invoke("run", "case.toml", "--quiet").exit_code == 0
    note = tmp_path / "outputs" / "case" / "note.txt"
    note.write_text("mine")
    assert invoke("run", "case.toml", "--quiet", "--force").exit_code == 0
    assert note.read_text() == "mine"


def test_an_invalid_scenario_does_not_cost_an_earlier_run_even_with_force(
    invoke: Invoke, write: Write, tmp_path: Path
) -> None:
    write(SMALL)
    assert invoke("run", "case.toml", "--quiet").exit_code == 0
    before = contents(tmp_path / "outputs")
    assert invoke("run", "case.toml", "--force", *STEP_TOO_LONG).exit_code == 2
    assert invoke("run", "case.toml", "--force", "--set", "materials.copper.density=-1").exit_code == 2
    assert contents(tmp_path / "outputs") == before


def test_set_overrides_the_file(invoke: Invoke, write: Write) -> None:
    write(SMALL)
    done = invoke("run", "case.toml", "--json", "--set", "time.end=0.5", "--set", "title=two words")
    told = json.loads(done.stdout)
    assert (told["time"], told["title"]) == (0.5, "two words")


def test_the_cpu_can_be_asked_for_by_device_and_by_kernel(invoke: Invoke, write: Write) -> None:
    write(SMALL)
    for n, option in enumerate((("--device", "cpu"), ("--kernel", "cpu"))):
        told = json.loads(invoke("run", "case.toml", "--json", "--output", f"run{n}", *option).stdout)
        assert (told["device"], told["kernel"]) == ("cpu", "cpu")


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (("--kernel", "basic", "--device", "cpu"), '"basic" runs on device "cuda"'),
        (("--kernel", "cpu", "--device", "cuda"), '"cpu" runs on device "cpu"'),
        (("--kernel", "turbo"), '"turbo"'),
        (("--device", "gpu"), "'gpu'"),
    ],
)
def test_a_kernel_that_does_not_fit_is_refused(
    invoke: Invoke, write: Write, tmp_path: Path, options: tuple[str, ...], named: str
) -> None:
    write(SMALL)
    done = invoke("run", "case.toml", *options)
    assert (done.exit_code, done.stdout) == (2, "")
    assert named in done.stderr
    assert not (tmp_path / "outputs").exists()


@pytest.mark.parametrize("options", [("--device", "cuda"), ("--kernel", "basic")])
def test_a_gpu_that_is_missing_is_exit_code_4_with_the_way_out(
    invoke: Invoke, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]
) -> None:
    def no_driver(name: str) -> None:
        raise OSError(name)

    monkeypatch.delenv("NUMBA_ENABLE_CUDASIM", raising=False)
    monkeypatch.setattr("ctypes.CDLL", no_driver)
    write(SMALL)
    done = invoke("run", "case.toml", *options)
    assert (done.exit_code, done.stdout) == (4, "")
    assert len(messages(done.stderr)) == 1
    assert "--device cpu" in done.stderr
    assert "pip install heatsim[cu1" in done.stderr
    assert not (tmp_path / "outputs").exists()


def test_a_dry_run_writes_nothing_and_says_what_the_run_would_take(
    invoke: Invoke, write: Write, tmp_path: Path
) -> None:
    write(BLOCK)
    short = invoke("run", "case.toml", "--dry-run")
    done = invoke("run", "case.toml", "--dry-run", "--resolved")
    assert done.exit_code == short.exit_code == 0, done.stderr
    assert short.stdout.startswith("device")
    assert "precision" not in short.stdout
    for row in ("stability limit", "step ", "steps", "memory", "disk", "time "):
        assert f"\n{row}" in done.stdout, row
    assert 'precision = "float32"' in done.stdout  # the resolved scenario, defaults filled in
    assert contents(tmp_path).keys() == {"case.toml"}


@pytest.mark.parametrize(
    "output",
    [
        "snapshots = { every = 0.3 }\nenergy = { every = 0.1 }",
        "snapshots = { at = [0.05, 0.77] }",
        "snapshots = { count = 7 }\n[[output.probes]]\nname = 'a'\nat = [0, 0, 0]\nevery = 0.15",
        "energy = { every = 1e9 }",
    ],
)
def test_a_dry_run_counts_the_steps_that_the_run_takes(invoke: Invoke, write: Write, output: str) -> None:
    write(f"{SMALL}[output]\n{output}\n".replace("end = 1.0", "end = 1.0\nintegrator = 'euler'"))
    estimate = json.loads(invoke("run", "case.toml", "--dry-run", "--json").stdout)
    told = json.loads(invoke("run", "case.toml", "--json").stdout)
    assert estimate["steps"] == told["steps"]
    assert estimate["cell_updates"] == told["cell_updates"] == told["steps"] * 8**3
    assert estimate["stability_limit_seconds"] == told["stability_limit_seconds"]
    assert estimate["largest_step_seconds"] == told["largest_step_seconds"]


def test_a_dry_run_counts_each_field_of_a_snapshot_on_the_disk(invoke: Invoke, write: Write) -> None:
    for fields, count, kept in (("[]", 1, 1), ("['heat_flux', 'peak_temperature']", 1 + 3 + 1, 2)):
        write(f"{SMALL}[output]\nsnapshots = {{ count = 4 }}\nfields = {fields}\n")
        estimate = json.loads(invoke("run", "case.toml", "--dry-run", "--json").stdout)
        packed = 0.6 * (5 * count + 2 * kept) * 4 * 8**3  # snapshots, checkpoints
        assert estimate["disk_bytes"] == pytest.approx(packed)


@in_turn("arguments", [(), ("--help",), ("run", "--help"), ("--version",)])
def test_help_is_help(invoke: Invoke, arguments: tuple[str, ...]) -> None:
    done = invoke(*arguments)
    assert "heatsim" in done.output


def test_a_command_with_a_typo_is_told_the_right_one(invoke: Invoke) -> None:
    done = invoke("rnu", "case.toml")
    assert done.exit_code == 2
    assert "run" in done.stderr
