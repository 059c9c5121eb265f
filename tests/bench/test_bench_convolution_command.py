"""`heatsim bench convolution` on tiny fields: what it tells, what it writes, what it catches and what it refuses."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from statistics import median
from sys import executable
from typing import Any

import numpy as np
import pytest
from bench_cases import call
from click.testing import CliRunner, Result
from heatsim_kernels.field.convolution.cpu import planes_kernel
from heatsim_kernels.field.filter_bank.cpu import direct
from helpers import simulator
from helpers.in_turn import in_turn

from heatsim.errors import RequestError
from heatsim.studies.bench.convolution.benchmark import parse_mask, parse_size
from heatsim.studies.bench.convolution.problems import FAMILIES
from heatsim.studies.bench.machine import is_copy

TINY = ("--device", "cpu", "--size", "40,23", "--seconds", "0.0005")


def convolution(*arguments: object) -> Result:
    return call(*arguments, command="convolution")


def compare(*arguments: object) -> Result:
    """Run benchmarks/compare_convolution.py in this process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
        command = import_module("compare_convolution").command()
    return CliRunner().invoke(command, [*map(str, arguments)])


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, dict[str, Any]]:
    """A benchmark of all families."""
    file = tmp_path_factory.mktemp("convolution") / "found.json"
    result = convolution(*TINY, "--mask", "3", "--mask", "7x5", "--json", file)
    return result, json.loads(file.read_text())


def rows(document: dict[str, Any], family: str) -> list[dict[str, Any]]:
    return [row for row in document["rows"] if row["family"] == family and not is_copy(row["name"])]


def test_every_family_is_verified_and_timed_against_the_copy(measured: tuple[Result, dict[str, Any]]) -> None:
    result, document = measured
    assert result.exit_code == 0, result.output
    assert {verdict["family"] for verdict in document["verification"]} == set(FAMILIES)
    assert all(verdict["cases"] > 3 and not verdict["flaw"] for verdict in document["verification"])
    ours = {(row["problem"], row["name"]) for row in document["rows"] if not is_copy(row["name"])}
    assert {("3 x 3", "cpu"), ("5 x 7", "cpu"), ("5 along rows", "cpu"), ("Gaussian, 17 + 17", "cpu")} <= ours
    assert {("bank 4 to 16, 5 x 5", kernel) for kernel in ("direct", "im2col", "register")} <= ours
    for problem in {row["problem"] for row in document["rows"]}:
        copies = [row for row in document["rows"] if row["problem"] == problem and is_copy(row["name"])]
        assert [row["of_copy"] for row in copies] == [pytest.approx(1)]


def test_a_row_counts_bytes_and_operations_as_theory_does(measured: tuple[Result, dict[str, Any]]) -> None:
    _, document = measured
    row = next(row for row in rows(document, "planes") if (row["problem"], row["name"]) == ("5 x 7", "cpu"))
    seconds = median(row["seconds"])
    assert row["results_per_second"] == pytest.approx(40 * 23 / seconds)
    assert row["bytes_per_second"] == pytest.approx(8 * 40 * 23 / seconds)
    assert row["operations_per_second"] == pytest.approx(70 * 40 * 23 / seconds)
    limit = document["operations_a_second"]["float32"]
    assert row["of_fma_limit"] == pytest.approx(row["operations_per_second"] / limit)
    bank = next(row for row in rows(document, "banks") if row["problem"] == "bank 4 to 16, 5 x 5")
    assert bank["results_per_second"] * bank["median"] == pytest.approx(16 * 40 * 23)


@pytest.mark.parametrize("kernel", ["planes", "separable"])
def test_a_wrong_cpu_kernel_is_reported_and_not_timed(monkeypatch: pytest.MonkeyPatch, kernel: str) -> None:
    right = planes_kernel.convolve

    def wrong(source: Any, target: Any, *rest: Any) -> None:
        right(source, target, *rest)
        if target.values.size > 4000:
            target.values[0, -1, -1] *= np.float32(1 + 1e-4)

    monkeypatch.setattr(planes_kernel, "convolve", wrong)
    done = convolution(*TINY, "--problem", kernel, "--json", "found.json")
    assert done.exit_code == 1
    assert " in float32 FAILED: the verification, mask" in done.stderr
    assert "1 of 4191 values differ" in done.stderr
    found = rows(json.loads(Path("found.json").read_text()), kernel)
    assert found
    assert all("failed" in row and "results_per_second" not in row for row in found)
    assert "FAILED" in done.stdout


def test_a_bank_kernel_with_other_bits_fails_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    right = direct.run

    def wrong(*arguments: Any) -> np.ndarray:
        found = right(*arguments)
        found[-1, -1, -1, -1] = np.nextafter(found[-1, -1, -1, -1], np.float32(9))
        return found

    monkeypatch.setattr(direct, "run", wrong)
    done = convolution(
        *TINY, "--problem", "banks", "--kernel", "direct", "--kernel", "register", "--json", "found.json"
    )
    assert done.exit_code == 1
    assert "direct, bank 4 to 16, 3 x 3 in float32 FAILED: the verification, " in done.stderr
    assert "values differ, the first at" in done.stderr
    found = rows(json.loads(Path("found.json").read_text()), "banks")
    assert all(("failed" in row) == (row["name"] == "direct") for row in found)


def test_a_wrong_peer_is_reported_and_not_timed_and_a_missing_one_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "scipy").mkdir()
    (tmp_path / "scipy" / "__init__.py").write_text("__version__ = '0.wrong'\n")
    (tmp_path / "scipy" / "ndimage.py").write_text(
        "def convolve(field, mask, output, mode):\n    output[...] = field\n"
    )
    (tmp_path / "cv2.py").write_text("raise ImportError('no such thing')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    done = compare(*TINY, "--problem", "planes", "--mask", "3", "--json", "found.json", "--peers-python", executable)
    assert done.exit_code == 1
    assert "SciPy 0.wrong, 3 x 3 in float32 FAILED" in done.stderr
    assert "OpenCV was not measured: no such thing" in done.stderr
    found = {row["name"]: row for row in rows(json.loads(Path("found.json").read_text()), "planes")}
    assert "results_per_second" in found["cpu"]
    assert "results_per_second" not in found["SciPy 0.wrong"]


@pytest.mark.parametrize("wrong", ["", "+ 0.001"])
def test_a_peer_that_is_right_races_with_the_kernels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: str
) -> None:
    """Here a torch whose ReLU is NumPy's."""
    (tmp_path / "torch.py").write_text(
        "import types\nimport numpy\n__version__ = '9'\nset_num_threads = set_grad_enabled = print\n"
        "class Tensor(numpy.ndarray):\n    def to(self, device): return self\n"
        "def from_numpy(field): return field.view(Tensor)\n"
        f"relu = lambda images: numpy.maximum(images, 0) {wrong}\n"
        "nn = types.SimpleNamespace(functional=types.SimpleNamespace(relu=relu))\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    done = compare(*TINY, "--problem", "relu", "--json", "found.json", "--peers-python", executable)
    found = {row["name"]: row for row in rows(json.loads(Path("found.json").read_text()), "relu")}
    assert (done.exit_code, "times_best" in found["PyTorch 9"]) == ((1, False) if wrong else (0, True)), done.output


@in_turn(
    ("arguments", "code", "words"),
    [
        (["--kernel", "fastest"], 2, 'not a kernel of device "cpu"'),
        (["--problem", "planes", "--kernel", "direct"], 2, "for these problems; there are cpu"),
        (["--mask", "4"], 2, "masks are odd"),
        (["--mask", "33"], 2, "at most 31 wide"),
        (["--mask", "wide"], 2, "expected a width"),
        (["--size", "1"], 2, "two cells at least"),
        (["--size", "8,8,8"], 2, "nx,ny"),
        (["--seconds", "0"], 2, "a time above 0"),
        (["--json", "nowhere/found.json"], 2, "there is no folder nowhere"),
    ],
)
def test_a_convolution_request_that_makes_no_sense_is_one_message(arguments: list[str], code: int, words: str) -> None:
    done = convolution("--device", "cpu", *arguments)
    assert (done.exit_code, done.stdout) == (code, "")
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_sizes_and_masks_are_columns_first() -> None:
    assert parse_size("40,23", "cpu") == (23, 40)
    assert parse_mask("7x5") == (5, 7)
    with pytest.raises(RequestError, match="4294967295 at most"):
        parse_size("65536", "cuda")


@pytest.mark.long
@simulator.needs_numba_cuda
def test_the_launches_that_are_timed_on_a_gpu_solve_the_problems_named() -> None:
    script = Path(__file__).with_name("bench_convolution_on_simulator.py")
    done = simulator.run_script(script)
    assert done.stdout.strip() == "equal", done.stderr


@pytest.mark.gpu
def test_gpu_kernels_of_every_family_are_verified_and_timed() -> None:
    done = convolution(
        "--device", "cuda", "--size", "512", "--mask", "5", "--seconds", "0.002", "--json", "found.json",
        "--problem", "planes", "--problem", "relu",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    document = json.loads(Path("found.json").read_text())
    timed = {row["name"]: row for row in rows(document, "planes")}
    assert set(timed) == {"basic", "constant", "tiled", "output_tiled", "cached", "register"}
    assert all(row["registers"] > 0 for row in timed.values())
