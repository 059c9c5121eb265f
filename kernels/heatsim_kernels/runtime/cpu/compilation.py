"""Compilation of the CPU kernels, kept on disk.

Numba keeps compiled code by the time stamp of the one file that a function stands in, and misses changes of the files
that it calls into. The cache is therefore a folder of its own for each state of this library's sources.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from numba import config, njit


def jit(function: Callable[..., Any]) -> Any:
    """Compile for one thread, with the interpreter lock released."""
    return _kept(function, parallel=False)


def inlined(function: Callable[..., Any]) -> Any:
    """Compile into its callers: for the small functions of a row loop, whose calls would cost as much as the row."""
    return _kept(function, parallel=False, forceinline=True)


def inlined_closure(function: Callable[..., Any]) -> Any:
    """As `inlined`, for functions that another function makes: Numba cannot find a closure on disk again, so it is kept
    with the code of its callers."""
    return njit(error_model="numpy", forceinline=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)(function)


def jit_closure(function: Callable[..., Any]) -> Any:
    """As `jit`, for functions that another function makes."""
    return njit(error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)(function)


def inlined_sum(function: Callable[..., Any]) -> Any:
    """As `inlined`, with sums in the order that vectors take them in; it is fixed when the function is compiled."""
    return _kept(function, parallel=False, forceinline=True, fastmath={"reassoc"})


def parallel_jit(function: Callable[..., Any]) -> Any:
    """Compile with `prange` shared out among threads."""
    return _kept(function, parallel=True)


def _kept(function: Callable[..., Any], **options: Any) -> Any:
    usual, config.CACHE_DIR = config.CACHE_DIR, str(cache_folder())
    try:
        return njit(cache=True, nogil=True, error_model="numpy", **options)(function)
    finally:
        config.CACHE_DIR = usual


@cache
def cache_folder() -> Path:
    """Folder of compiled kernels: under NUMBA_CACHE_DIR, XDG_CACHE_HOME or ~/.cache, named after the sources."""
    sources = Path(__file__).parents[2]
    digest = hashlib.sha256()
    for path in sorted(sources.rglob("*.py")):
        digest.update(path.relative_to(sources).as_posix().encode() + b"\0" + path.read_bytes())
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(config.CACHE_DIR or Path(home) / "heatsim") / f"kernels-{digest.hexdigest()[:16]}"
