"""Compilation of the CPU kernels, kept on disk.

Numba keeps compiled code by the time stamp of the one file that a function stands in, and misses changes of the files
that it calls into. The cache is therefore a folder of its own for each state of this library's sources.
"""

from __future__ import annotations

import hashlib
import os
from functools import cache, update_wrapper
from pathlib import Path

from numba import config, get_num_threads, njit
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler


def jit(function):
    """Compile for one thread, with the interpreter lock released."""
    return _kept(function, parallel=False)


def inlined(function):
    """Compile into its callers: for the small functions of a row loop, whose calls would cost as much as the row."""
    return _into_callers(function)


def inlined_sum(function):
    """As `inlined`, with sums in the order that vectors take them in; it is fixed when the function is compiled."""
    return _into_callers(function, fastmath={"reassoc"})


def called(function):
    """Compile along with its callers, and not into them: for what is too long to be part of several places of one."""
    return _into_callers(function, forceinline=False)


def parallel_jit(function):
    """Compile with `prange` shared out among threads; with `range` in its place where there is one thread."""
    return _Either(_kept(function, parallel=True), jit(function))


class _Either:
    """A function compiled for threads, or for one: that takes a fifth as long, and a small grid is done with it.

    Once the one for threads is there it serves one thread too.
    """

    def __init__(self, shared, alone):
        self._shared, self._alone, self._function = shared, alone, None
        update_wrapper(self, shared.py_func)

    def __call__(self, *args):
        if self._function is None and get_num_threads() > 1:
            self._function = self._shared
        return (self._function or self._alone)(*args)


class _Bitcode(JITCodeLibrary):
    """A function that lives in its callers alone: linked, and neither optimised nor made machine code by itself."""

    def _optimize_final_module(self):
        pass

    def _finalize_final_module(self):
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True

    def get_pointer_to_function(self, name):
        self._ensure_finalized()
        return 0

    @property
    def codegen(self):
        return self  # for `set_env` alone: there is no machine code to tell

    def set_env(self, name, env):
        pass


class _IntoCallers(Compiler):
    """Numba's compiler, up to the LLVM code of the function."""

    def define_pipelines(self):
        state = self.state
        state.library = _Bitcode(state.targetctx.codegen(), state.func_id.func_qualname)
        return super().define_pipelines()


def _into_callers(function, forceinline=True, **options):
    alone = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "pipeline_class": _IntoCallers}
    return njit(nogil=True, error_model="numpy", forceinline=forceinline, **alone, **options)(function)


def _kept(function, **options):
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
