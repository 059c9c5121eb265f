"""`heatsim bench stencil` on a tiny grid: what it tells, what it writes, and what it refuses."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bench_cases import TINY, Invoke, Measured
from heatsim_kernels.explicit import STEPPERS
from heatsim_kernels.explicit.coefficients import Forcing, StencilCoefficients
from heatsim_kernels.explicit.cpu.stepper import CpuStepper
from PIL import Image

from heatsim.errors import RequestError
from heatsim.studies.bench.machine import is_copy
from heatsim.studies.bench.stencil import kernels as under_test
from heatsim.studies.bench.stencil.benchmark import parse_size

CELLS = 20 * 9 * 7


def kernels(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [row for row in document["rows"] if not is_copy(row["name"])]


def test_every_kernel_of_the_device_is_verified_and_timed(measured: Measured) -> None:
    assert measured.result.exit_code == 0, measured.result.output
    names = under_test.shown_names(under_test.kernel_names("cpu"))
    assert [row["name"] for row in kernels(measured.document)] == names
    for verdict in measured.document["verification"]:
        assert (verdict["flaw"], verdict["cases"] > 10) == ("", True)
    for row in kernels(measured.document):
        assert row["cells"] == [20, 9, 7]
        assert row["cells_per_second"] == pytest.approx(CELLS / sorted(row["seconds"])[2])
        assert row["cells_per_second_best"] == pytest.approx(CELLS / min(row["seconds"]))
        assert row["bytes_per_second"] == pytest.approx(8 * row["cells_per_second"])
        assert row["repetitions"] % 12 == 0
        assert row["name"] in measured.result.stdout


def test_fractions_are_of_the_copy_measured_beside(measured: Measured) -> None:
    (copy,) = (row for row in measured.document["rows"] if is_copy(row["name"]))
    assert copy["of_copy"] == 1
    assert all("at least 1 s are needed" in row["doubt"] for row in measured.document["rows"])
    assert "rows have no ratio" in measured.result.stderr
    for row in kernels(measured.document):
        assert row["of_copy"] == pytest.approx(row["bytes_per_second"] / copy["bytes_per_second"])


def test_the_json_says_on_what_machine_and_what_was_asked_for(measured: Measured) -> None:
    machine = measured.document["machine"]
    assert {"python", "numpy", "numba", "heatsim"} <= machine["versions"].keys()
    assert machine["threads"] >= 1
    assert machine["load_average"] >= 0
    assert machine["date"].startswith("20")
    asked = measured.document["asked"]
    assert measured.document["benchmark"] == "heatsim bench stencil"
    assert (asked["device"], asked["size"], asked["materials"], asked["seconds"]) == ("cpu", ["20,9,7"], [1], 0.001)


def test_the_figure_is_drawn(measured: Measured) -> None:
    with Image.open(measured.figure) as image:
        assert min(image.size) > 400
        assert len(set(np.asarray(image.convert("RGB")).reshape(-1, 3).view("u1,u1,u1").ravel().tolist())) > 20


class OneBitOff(CpuStepper):
    """Right but for the last bit of one cell, where there are more than a thousand."""

    def advance(self, dt: float, steps: int, forcing: Forcing) -> None:
        super().advance(dt, steps, forcing)
        if self.field.now.size > 1000:
            cell = self.field.state()[-1, -1, -2:-1]
            cell[:] = np.nextafter(cell, np.float32(9))


class Forgetful(CpuStepper):
    """Right but for the heat through the boundary faces."""

    def heat_entered(self) -> np.ndarray:
        return super().heat_entered() * 1.001


class Broken(CpuStepper):
    def advance(self, dt: float, steps: int, forcing: Forcing) -> None:
        raise RuntimeError("out of registers")


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        (OneBitOff, "1 of 19812 values differ"),
        (Forgetful, "the heat through"),
        (Broken, "RuntimeError: out of registers"),
    ],
)
def test_a_kernel_that_is_wrong_is_reported_and_not_timed(
    bench: Invoke, monkeypatch: pytest.MonkeyPatch, kernel: type, words: str
) -> None:
    monkeypatch.setitem(STEPPERS, "wrong", kernel)
    monkeypatch.setattr("heatsim.studies.bench.stencil.problems.SHAPES", ((1, 1, 61), (2, 3, 5)))
    monkeypatch.setattr("heatsim.studies.bench.stencil.problems.LARGE", (12, 13, 127))
    done = bench(*TINY, "--kernel", "wrong", "--kernel", "cpu", "--json", "found.json")
    assert done.exit_code == 1
    assert "wrong in float32 FAILED: the verification, " in done.stderr
    assert words in done.stderr
    rows = {row["name"]: row for row in json.loads(Path("found.json").read_text())["rows"]}
    assert rows["wrong"]["failed"]
    assert "cells_per_second" not in rows["wrong"]
    assert all("cells_per_second" in row for name, row in rows.items() if name != "wrong")
    assert done.stdout.count("FAILED") == 1


def test_nothing_is_trusted_when_the_reference_itself_is_wrong(bench: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(under_test, "single_sweep", stronger_exchange)
    monkeypatch.setattr("heatsim.studies.bench.stencil.problems.LARGE", (3, 4, 5))
    done = bench(*TINY, "--kernel", "cpu")
    assert done.exit_code == 1
    assert "the reference itself differs from NumPy on 1 x 1 x 1, 1 material" in done.stderr


def stronger_exchange(coefficients: StencilCoefficients, dtype: np.dtype) -> CpuStepper:
    """A kernel that takes every exchange to be a percent larger."""
    return CpuStepper(replace(coefficients, rates=1.01 * coefficients.rates), dtype, fused=1)


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--device", "cpu", "--kernel", "fastest"], 2, 'not a kernel of device "cpu", which has cpu'),
        (["--device", "cpu", "--kernel", "basic"], 2, '"basic" runs on another device'),
        (["--device", "cpu", "--size", "0"], 2, "every axis needs at least one cell"),
        (["--device", "cpu", "--size", "8,8"], 2, "nx,ny,nz"),
        (["--device", "cpu", "--size", "large"], 2, "nx,ny,nz"),
        (["--device", "cpu", "--materials", "0"], 2, "between 1 and 255"),
        (["--device", "cpu", "--layers", "-1"], 2, "between 1 and 1000"),
        (["--device", "cpu", "--seconds", "-1"], 2, "a time above 0"),
        (["--device", "cpu", "--json", "nowhere/found.json"], 2, "there is no folder nowhere"),
    ],
)
def test_a_request_that_makes_no_sense_is_one_message(
    bench: Invoke, arguments: list[str], code: int, words: str
) -> None:
    done = bench(*arguments)
    assert (done.exit_code, done.stdout) == (code, "")
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_gpu_grid_holds_no_more_cells_than_its_kernels_can_count() -> None:
    assert parse_size("65536,65536,1", "cpu") == (1, 65536, 65536)
    assert parse_size("65535,65537,1", "cuda") == (1, 65537, 65535)
    with pytest.raises(RequestError, match="4294967295 at most"):
        parse_size("65536,65536,1", "cuda")


def test_a_grid_that_does_not_fit_is_told_with_bytes_before_anything_is_done(
    bench: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("heatsim.simulation.free_resources._available", lambda: 2.0**28)
    done = bench("--device", "cpu", "--size", "512")
    assert (done.exit_code, done.stdout) == (1, "")
    assert "--size 512 in float32: the run needs 1.1 GB, and there are 0.3 GB" in done.stderr
    assert "verifying" not in done.stderr


def test_a_gpu_that_is_demanded_and_missing_has_an_exit_code_of_its_own(
    bench: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_driver(name: str) -> None:
        raise OSError

    monkeypatch.delenv("NUMBA_ENABLE_CUDASIM", raising=False)
    monkeypatch.setattr("ctypes.CDLL", no_driver)
    done = bench("--device", "cuda")
    assert (done.exit_code, done.stdout) == (4, "")
    assert "no CUDA GPU" in done.stderr


@pytest.mark.gpu
def test_a_gpu_kernel_is_timed_and_its_resources_are_read(bench: Invoke) -> None:
    done = bench("--device", "cuda", "--size", "64", "--kernel", "basic", "--materials", "1", "--json", "found.json")
    assert done.exit_code == 0, done.output
    document = json.loads(Path("found.json").read_text())
    (row,) = kernels(document)
    assert row["registers"] > 0
    assert row["spilled_bytes"] == 0
    assert 0 < row["occupancy"] <= 1
    assert {row["name"] for row in document["rows"]} == {"copy (kernel)", "copy (memcpy)", "basic"}
    assert document["machine"]["driver"] != "unknown"
