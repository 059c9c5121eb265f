"""Compiled kernels are kept by the sources that they are made of."""

from __future__ import annotations

import ast
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from heatsim_kernels.device import kernel_cache
from heatsim_kernels.device.kernel_cache import PACKAGE, ROOT, cache_folder, imported_modules, sources

FILES = sorted(ROOT.rglob("*.py"))
FUSED = f"{PACKAGE}.explicit.cpu.fused_pass"


def forget() -> None:
    for cached in (cache_folder, imported_modules, kernel_cache._file, kernel_cache._text, kernel_cache._digest):
        cached.cache_clear()


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of the library's sources, to be edited."""
    copy = tmp_path / PACKAGE
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(kernel_cache, "ROOT", copy)
    forget()
    yield copy
    forget()


def folder_after(package: Path, edited: str, module: str = FUSED) -> Path:
    """The folder of a module after a line was added to a file."""
    with (package / edited).open("a") as file:
        file.write("\nEDITED = 1\n")
    forget()
    return cache_folder(module)


@pytest.mark.parametrize(
    "edited",
    ["explicit/cpu/fused_pass.py", "explicit/physics.py", "device/fma.py", "device/cpu/pointers.py"],
    ids=["its own file", "a module of another package", "an import of an import", "the runtime"],
)
def test_an_edit_of_a_source_changes_the_folder(package: Path, edited: str) -> None:
    assert cache_folder(FUSED) != folder_after(package, edited)


@pytest.mark.parametrize("edited", ["solver/cpu/sweeps.py", "field/convolution/__init__.py", "device/cuda/launch.py"])
def test_an_edit_elsewhere_does_not(package: Path, edited: str) -> None:
    assert cache_folder(FUSED) == folder_after(package, edited)


def test_a_package_that_is_imported_counts_with_its_init_file(package: Path) -> None:
    importer = package / "explicit" / "physics.py"
    importer.write_text(
        importer.read_text() + f"\ndef late():\n    from {PACKAGE}.field.convolution import edges, convolve\n"
    )
    forget()
    before = cache_folder(FUSED)
    assert package / "field" / "convolution" / "edges.py" in sources(FUSED)
    assert before != folder_after(package, "field/convolution/__init__.py")


def test_a_module_from_elsewhere_depends_on_all_sources(package: Path) -> None:
    assert cache_folder("elsewhere") != folder_after(package, "solver/cpu/sweeps.py", "elsewhere")


def test_the_imports_that_are_found_are_those_of_the_syntax_tree() -> None:
    """In functions and under `if TYPE_CHECKING`, too. Relative imports would be missed: there are none."""
    found = {path: imported_modules(path) for path in FILES}
    assert found == {path: modules_of_syntax_tree(path) for path in FILES}


def modules_of_syntax_tree(path: Path) -> set[str]:
    expected = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            expected |= {alias.name for alias in node.names if alias.name.startswith(PACKAGE)}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            origin = node.module or ""
            if origin.startswith(PACKAGE):
                for alias in node.names:
                    inner = ROOT.joinpath(*f"{origin}.{alias.name}".split(".")[1:])
                    is_module = inner.with_suffix(".py").is_file() or (inner / "__init__.py").is_file()
                    expected.add(f"{origin}.{alias.name}" if is_module else origin)
    return expected


def test_damaged_kernels_are_told_and_not_used(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    files = kernel_cache.SignatureFiles(str(tmp_path), "kernel", "stamp")
    files.save("signature", ("code", b"machine code"))
    assert files.load("signature") == ("code", b"machine code")
    (path,) = tmp_path.iterdir()
    whole = path.read_bytes()
    damaged = [whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :] for place in range(len(whole))]
    for content in [*damaged, *(whole[:length] for length in range(0, len(whole), 7))]:
        path.write_bytes(content)
        assert files.load("signature") is None
    assert "is damaged; the kernel is compiled anew" in caplog.text
    files.save("signature", ("code", b"machine code"))
    assert files.load("signature") is not None
