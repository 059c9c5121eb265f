"""Which device and kernel a scenario gets, and that it is told."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from helpers.commands import SMALL
from helpers.in_turn import in_turn

from heatsim.errors import NoGpuError, ScenarioError
from heatsim.scenario import load
from heatsim.simulation import device_selection

pytest.importorskip("numba_cuda")
Write = Callable[..., Path]
LARGE = SMALL.replace("[8, 8, 8]", "[64, 64, 64]")


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Make believe that there is a GPU with so many bytes of shared memory."""

    def believe(shared: int) -> None:
        monkeypatch.setattr(device_selection, "gpu_name", lambda: "GPU")
        monkeypatch.setattr("heatsim_kernels.device.cuda.api.shared_memory", lambda: shared)

    return believe


def test_auto_takes_the_gpu_and_its_fastest_kernel(write: Write, gpu: Callable[[int], None]) -> None:
    gpu(227 * 1024)
    choice = device_selection.choose_device(load(write(LARGE)))
    assert (choice.device, choice.kernel) == ("cuda", "temporal")
    assert "fastest" in choice.reason


def test_auto_leaves_a_small_grid_on_the_cpu_unless_told(write: Write, gpu: Callable[[int], None]) -> None:
    gpu(227 * 1024)
    path = write(SMALL)
    assert device_selection.choose_device(load(path)).device == "cpu"
    assert "small" in device_selection.choose_device(load(path)).reason
    assert device_selection.choose_device(load(path, ["compute.device=cuda"])).device == "cuda"
    assert device_selection.choose_device(load(path, ["compute.kernel=basic"])).device == "cuda"


def test_auto_takes_no_kernel_whose_tile_the_gpu_cannot_hold(write: Write, gpu: Callable[[int], None]) -> None:
    gpu(1024)
    assert device_selection.choose_device(load(write(LARGE))).kernel == "register"


def test_a_kernel_named_that_the_gpu_cannot_hold_is_refused(write: Write, gpu: Callable[[int], None]) -> None:
    gpu(1024)
    with pytest.raises(ScenarioError, match=r"compute.kernel.*bytes of shared memory a block, and this GPU has 1024"):
        device_selection.choose_device(load(write(LARGE), ["compute.kernel=temporal"]))


def test_a_grid_of_more_cells_than_the_gpu_kernels_count_stays_on_the_cpu_or_is_refused(
    write: Write, gpu: Callable[[int], None]
) -> None:
    gpu(227 * 1024)
    path = write(SMALL.replace("[8, 8, 8]", "[2048, 2048, 1024]"))
    assert device_selection.choose_device(load(path)).device == "cpu"
    with pytest.raises(ScenarioError, match=r"grid\.cells: expected at most 4294967295 cells on a GPU"):
        device_selection.choose_device(load(path, ["compute.device=cuda"]))


@pytest.mark.parametrize("integrator", ["implicit", "steady"])
def test_integrators_that_solve_go_where_the_run_goes(
    write: Write, gpu: Callable[[int], None], integrator: str
) -> None:
    gpu(1024)
    solving = f"time.integrator={integrator}"
    large, small = (write(text, name) for text, name in ((LARGE, "large.toml"), (SMALL, "small.toml")))
    for path, demanded, expected in (
        (large, [], ("cuda", "multigrid_cuda")),
        (large, ["compute.device=cpu"], ("cpu", "multigrid")),
        (small, [], ("cpu", "multigrid")),
        (small, ["compute.device=cuda"], ("cuda", "multigrid_cuda")),
    ):
        choice = device_selection.choose_device(load(path, [solving, *demanded]))
        assert (choice.device, choice.kernel) == expected


@in_turn("integrator", ["euler", "implicit", "steady"])
def test_a_gpu_demanded_and_missing_is_refused(write: Write, monkeypatch: pytest.MonkeyPatch, integrator: str) -> None:
    def none() -> str:
        raise NoGpuError("none")

    monkeypatch.setattr(device_selection, "gpu_name", none)
    path = write(LARGE)
    with pytest.raises(NoGpuError):
        device_selection.choose_device(load(path, [f"time.integrator={integrator}", "compute.device=cuda"]))
    assert device_selection.choose_device(load(path, [f"time.integrator={integrator}"])).device == "cpu"


def test_without_a_gpu_auto_says_so(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> str:
        raise NoGpuError("none")

    monkeypatch.setattr(device_selection, "gpu_name", none)
    choice = device_selection.choose_device(load(write(LARGE)))
    assert (choice.device, choice.kernel, choice.reason) == ("cpu", "cpu", "there is no GPU")


def test_the_choice_and_its_reason_are_in_the_summary_and_in_run_json(
    write: Write, invoke: Callable[..., object], tmp_path: Path
) -> None:
    write(SMALL)
    done = invoke("run", "case.toml", "--kernel", "cpu")
    assert "cpu (named by the scenario)" in done.stdout  # type: ignore[attr-defined]
    info = json.loads((tmp_path / "outputs" / "case" / "run.json").read_text())
    assert (info["kernel"], info["kernel_reason"]) == ("cpu", "named by the scenario")
