"""Compilation of the CPU kernels, kept on disk.

Numba keeps compiled code by the time stamp of the one file that a function stands in, and misses changes of the files
that it calls into. The cache is therefore a folder of its own for each state of this library's sources.
"""

from __future__ import annotations

import hashlib
import os
from functools import cache
from pathlib import Path

from numba import config, njit


def jit(function):
    """Compile for one thread, with the interpreter lock released."""
    return _kept(function, parallel=False)


def parallel_jit(function):
    """Compile with `prange` shared out among threads."""
    return _kept(function, parallel=True)


def _kept(function, parallel):
    usual, config.CACHE_DIR = config.CACHE_DIR, str(cache_folder())
    try:
        return njit(cache=True, nogil=True, parallel=parallel, error_model="numpy")(function)
    finally:
        config.CACHE_DIR = usual


@cache
def cache_folder() -> Path:
    """Folder of compiled kernels: under NUMBA_CACHE_DIR, XDG_CACHE_HOME or ~/.cache, named after the sources."""
    sources = Path(__file__).parent
    digest = hashlib.sha256()
    for path in sorted(sources.rglob("*.py")):
        digest.update(path.relative_to(sources).as_posix().encode() + b"\0" + path.read_bytes())
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(config.CACHE_DIR or Path(home) / "heatsim") / f"kernels-{digest.hexdigest()[:16]}"
