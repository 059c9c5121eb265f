"""Functions compiled into their callers, and kernels with a version for one thread."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from heatsim_kernels.device.cpu import compilation, threads
from heatsim_kernels.device.kernel_cache import cache_folder
from numba import config, prange
from numba.core import codegen

inlined_or_called = pytest.mark.parametrize(
    "decorate", [compilation.inlined, compilation.inlined_sum, compilation.called], ids=lambda each: each.__name__
)


@pytest.fixture(autouse=True)
def _cache_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))
    cache_folder.cache_clear()
    yield
    cache_folder.cache_clear()


def third(value):
    return value / 3


def fill(values, share):
    for index in prange(len(values)):
        for i in range(1000):
            values[index] += share * i / (1 + values[index])


def sum_of_thirds(decorate: Any) -> Any:
    inner = decorate(third)

    def total(values):
        result = 0.0
        for value in values:
            result += inner(value)
        return result

    return compilation.jit(total)


@inlined_or_called
def test_python_that_calls_an_inner_function_gets_an_error(decorate: Any) -> None:
    inner = decorate(third)
    with pytest.raises(TypeError, match=re.escape("third is compiled into its callers: Python cannot call it")):
        inner(1.0)
    assert inner.py_func(6.0) == 2.0


@inlined_or_called
def test_inner_functions_compile_with_and_without_the_internals_of_numba(
    decorate: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = np.arange(10.0)
    with_internals = sum_of_thirds(decorate)
    assert compilation._inner_compiler is not None  # otherwise nothing is saved, see pyproject.toml
    total = with_internals(values)
    monkeypatch.setattr(compilation, "_inner_compiler", None)
    assert sum_of_thirds(decorate)(values) == total == pytest.approx(15.0)


def test_another_numba_without_these_internals_compiles_the_plain_way(monkeypatch: pytest.MonkeyPatch) -> None:
    assert compilation.compiler_of_inner_functions() is not None
    monkeypatch.delattr(codegen.CPUCodeLibrary, "_verify_declare_only_symbols")
    assert compilation.compiler_of_inner_functions() is None


@pytest.mark.skipif(numba.config.NUMBA_NUM_THREADS < 2, reason="needs two threads")
@pytest.mark.parametrize("compiled", [compilation.parallel_jit, compilation.parallel_jit_for_levels])
def test_both_versions_of_a_kernel_compute_the_same_bits(compiled: Callable[..., Any]) -> None:
    kernel, fields, serial, whole = compiled(fill), [], [], np.linspace(0.1, 1.0, 101)
    for count, values in ((1, whole), (2, whole), (1, whole), (1, whole.astype(np.float32))):
        found = values.copy()
        with threads.limited(count):
            kernel(found, 0.3)
        fields.append(found)
        serial.append(len(kernel.serial.signatures))
    assert fields[0].tobytes() == fields[1].tobytes() == fields[2].tobytes()
    # What is called for grids of all sizes compiles no serial version once it has a parallel one.
    assert serial == ([1, 1, 1, 1] if compiled is compilation.parallel_jit_for_levels else [1, 1, 1, 2])


@pytest.mark.skipif(numba.config.NUMBA_NUM_THREADS < 2, reason="needs two threads")
def test_the_disk_keeps_the_versions_apart() -> None:
    values = np.zeros(2)
    with threads.limited(1):
        compilation.parallel_jit(fill)(values, 0.3)
    with threads.limited(2):
        kernel = compilation.parallel_jit(fill)
        kernel(values, 0.3)
        again = compilation.parallel_jit(fill)
        again(values, 0.3)
    assert not kernel.parallel.stats.cache_hits
    assert again.parallel.stats.cache_hits


def test_processes_that_compile_at_the_same_time_lose_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second one keeps its code while the first is about to write."""
    first, second = (compilation.jit(third)._cache for _ in range(2))
    first._impl.locator.ensure_cache_path()
    dump = first._cache_file._dump

    def dump_after_the_other(data: object) -> bytes:
        monkeypatch.undo()
        second._cache_file.save("b", "code of b")
        return bytes(dump(data))

    monkeypatch.setattr(first._cache_file, "_dump", dump_after_the_other)
    first._cache_file.save("a", "code of a")
    assert [second._cache_file.load(key) for key in ("a", "b", "c")] == ["code of a", "code of b", None]


def test_code_of_another_numba_or_a_file_cut_short_is_compiled_anew() -> None:
    kept = compilation.jit(third)._cache
    kept._impl.locator.ensure_cache_path()
    kept._cache_file.save("a", "code of a")
    kept._cache_file._version = "another"
    assert kept._cache_file.load("a") is None
    for path in Path(kept.cache_path).rglob("*.nbc"):
        path.write_bytes(b"")
    assert kept._cache_file.load("a") is None


def test_a_process_that_runs_heatsim_alone_does_not_import_scipys_linear_algebra() -> None:
    code = """
import sys
import numba
from heatsim_kernels.device.cpu.compilation import import_compiler_without_scipy
import_compiler_without_scipy()
assert numba.njit(lambda x: x + 1)(1) == 2
assert "scipy.linalg" not in sys.modules
import scipy.linalg
"""
    subprocess.run([sys.executable, "-c", code], check=True)
