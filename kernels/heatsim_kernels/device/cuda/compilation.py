"""CUDA kernels as machine code, compiled once for a kind of GPU and kept on disk.

Numba's type inference makes most of the compile time, seconds a kernel; what is kept is the finished machine code
(cubin), so a later process loads it in a millisecond. Numba's own disk cache does not serve: it keeps no closures, and
it misses changes of the files that a kernel is inlined from. Compiling needs no GPU.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Hashable
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

from heatsim_kernels.device.compile_watch import announce, collection_paused
from heatsim_kernels.device.cuda.api import cuda, linker
from heatsim_kernels.device.kernel_cache import cache_folder
from heatsim_kernels.device.log import log


class Binary(NamedTuple):
    """A kernel for one kind of GPU: its symbol, its machine code, and what the assembler reported."""

    symbol: str
    code: bytes
    report: str


def binary(
    build: Callable[..., Any],
    variant: Hashable,
    signature: Any,
    capability: tuple[int, int],
    bounds: Any = None,
) -> Binary:
    """The kernel `build(variant)` for argument types and a compute capability, from disk or compiled.

    `bounds` is None or (threads a block, blocks a multiprocessor), which caps the registers. `variant` names in its
    `repr` all that `build` depends on.
    """
    path = _path(build, variant, signature, capability, bounds)
    kept = _read(path)
    if kept is not None:
        return kept
    begun = time.perf_counter()
    announce(build.__module__)
    made = compiled(build, variant, signature, capability, bounds)
    _write(path, made)
    log.info("compiled the kernel %s in %.1f s", build.__module__, time.perf_counter() - begun)
    return made


def compiled(
    build: Callable[..., Any], variant: Hashable, signature: Any, capability: tuple[int, int], bounds: Any = None
) -> Binary:
    """As `binary`, without the disk."""
    with collection_paused():
        ptx = str(cuda.compile_ptx(build(variant), signature, cc=capability, launch_bounds=bounds)[0])
    code, report = _assembled(ptx, capability)
    return Binary(_symbol(ptx), code, report)


def _symbol(ptx: str) -> str:
    return ptx.partition(".entry ")[2].partition("(")[0].strip()


def _assembled(ptx: str, capability: tuple[int, int]) -> tuple[bytes, str]:
    """Machine code, and the assembler's report of registers and spills."""
    nvjitlink = linker()
    options = [f"-arch=sm_{capability[0]}{capability[1]}", "-Xptxas=-v"]
    handle = nvjitlink.create(len(options), options)
    try:
        text = ptx.encode()
        nvjitlink.add_data(handle, nvjitlink.InputType.PTX, text, len(text), "kernel.ptx")
        nvjitlink.complete(handle)
        code = bytearray(nvjitlink.get_linked_cubin_size(handle))
        nvjitlink.get_linked_cubin(handle, code)
        report = bytearray(nvjitlink.get_info_log_size(handle))
        nvjitlink.get_info_log(handle, report)
    finally:
        nvjitlink.destroy(handle)
    return bytes(code), report.decode().rstrip("\0")


def _path(build: Any, variant: Hashable, signature: Any, capability: tuple[int, int], bounds: Any) -> Path:
    """The file of a kernel. The folder changes with the sources, the name with all else that the code depends on."""
    parts = (build.__module__, build.__qualname__, variant, signature, capability, bounds, _tool_versions())
    digest = hashlib.sha256(repr(parts).encode()).hexdigest()[:24]
    return cache_folder(build.__module__) / "cuda" / f"{build.__module__.rpartition('.')[2]}-{digest}.cubin"


def _tool_versions() -> tuple[str, ...]:
    return tuple(_version(name) for name in ("numba", "numba-cuda", "nvidia-cuda-nvvm", "nvidia-nvvm", "cuda-bindings"))


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def _read(path: Path) -> Binary | None:
    """What was kept, or None where nothing readable was."""
    try:
        head, _, code = path.read_bytes().partition(b"\n")
        about = json.loads(head)
        kept = Binary(about["symbol"], code, about["report"])
        return kept if about["sha256"] == _sha256_of(kept) else None  # damaged: it is compiled anew
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _sha256_of(kept: Binary) -> str:
    return hashlib.sha256(repr((kept.symbol, kept.report)).encode() + kept.code).hexdigest()


def _write(path: Path, made: Binary) -> None:
    """Keep a kernel; a disk that is full or not ours costs the next process time, no more."""
    head = json.dumps({"symbol": made.symbol, "report": made.report, "sha256": _sha256_of(made)}).encode()
    part = path.with_suffix(f".{os.getpid()}.part")
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_bytes(head + b"\n" + made.code)
        part.replace(path)
