"""Compilation of the CPU kernels, kept on disk (see `device/kernel_cache.py`).

A kernel that Python calls is made by `jit` or `parallel_jit`. The functions that it calls in turn are made by
`inlined`, `inlined_sum` or `called`: they live in their callers alone. By itself, Numba optimises each of them, makes
machine code of it, wraps it for Python and keeps it on disk, which takes as long again as the kernel, and nobody uses
the result.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import update_wrapper
from importlib import import_module
from typing import Any

from numba import get_num_threads, njit
from numba.core.registry import CPUDispatcher

from heatsim_kernels.device.compile_watch import pause_collection_for_the_cpu
from heatsim_kernels.device.kernel_cache import jit_with_cache

pause_collection_for_the_cpu()

ONE_THREAD = "one-thread"  # folder of the serial versions: Numba's cache does not tell them from the parallel ones


def import_compiler_without_scipy() -> None:
    """Import the part of Numba that imports SciPy's linear algebra if that is installed, and have it go without.

    That saves 0.3 s of CPU time. No kernel needs it; other compiled functions of the process cannot multiply matrices
    then, so this is for processes that run heatsim alone.
    """
    if "scipy.linalg" not in sys.modules:
        sys.modules["scipy.linalg"] = None  # type: ignore[assignment]  # an import raises ImportError
        try:
            import_module("numba.np.arraymath")
        finally:
            del sys.modules["scipy.linalg"]


def jit(function: Callable[..., Any]) -> Any:
    """Compile for one thread, with the interpreter lock released."""
    return _compile_for_python(function, parallel=False)


def parallel_jit(function: Callable[..., Any]) -> Any:
    """Compile a function with `prange`: see `ParallelKernel`."""
    return ParallelKernel(*_both_versions(function))


def parallel_jit_for_levels(function: Callable[..., Any]) -> Any:
    """The same for a function that a run calls for large and for small grids, as multigrid does: once the parallel
    version has been called, it serves small ones too, and a serial one need not be compiled as well."""
    return ParallelKernel(*_both_versions(function), for_levels=True)


def _both_versions(function: Callable[..., Any]) -> tuple[Any, Any]:
    return _compile_for_python(function, parallel=True), _compile_for_python(function, ONE_THREAD, parallel=False)


def inlined(function: Callable[..., Any]) -> Any:
    """Compile into its callers: for the small functions of a row loop, whose calls would cost as much as the row."""
    return _compile_for_callers(function, forceinline=True)


def inlined_sum(function: Callable[..., Any]) -> Any:
    """As `inlined`, with sums in the order that vectors take them in; it is fixed when the function is compiled."""
    return _compile_for_callers(function, forceinline=True, fastmath={"reassoc"})


def called(function: Callable[..., Any]) -> Any:
    """Compile along with its callers, as a function that they call: for what is too long to be inlined."""
    return _compile_for_callers(function, forceinline=False)


class ParallelKernel:
    """A kernel in two versions: `parallel`, whose `prange` is shared out among threads, and `serial`, in which it is
    `range`.

    The serial version compiles in half the time or less, and is all that a small grid needs. It is called where the
    calling thread may use one Numba thread only (see `threads.limited`); but see `parallel_jit_for_levels`. Both
    compute the same bits if each pass of the `prange` writes only places of its own; so there
    must be no scalar reduction over a `prange`. Compiled code cannot call a `ParallelKernel`.
    """

    def __init__(self, parallel: Any, serial: Any, *, for_levels: bool = False) -> None:
        self.parallel, self.serial, self._for_levels, self._parallel_alone = parallel, serial, for_levels, False
        update_wrapper(self, parallel.py_func)

    def __call__(self, *args: Any) -> Any:
        """Call the version that suits the number of threads."""
        if get_num_threads() == 1 and not self._parallel_alone:
            return self.serial(*args)
        result = self.parallel(*args)
        self._parallel_alone = self._for_levels
        return result

    @property
    def py_func(self) -> Callable[..., Any]:
        """The Python function that was compiled."""
        return self.parallel.py_func


class InnerFunction(CPUDispatcher):
    """A compiled function that only compiled functions may call: there is no machine code that Python could enter."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Raise TypeError: without this, the call would jump to address 0."""
        raise TypeError(f"{self.py_func.__qualname__} is compiled into its callers: Python cannot call it")


def compiler_of_inner_functions() -> Any:
    """Numba's compiler up to the LLVM code of a function, without optimisation and machine code; None where this Numba
    has not the internals that it rests on (it has since 0.57)."""
    try:
        from numba.core.codegen import JITCodeLibrary
        from numba.core.compiler import Compiler
    except ImportError:
        return None
    steps = ("_optimize_final_module", "_finalize_final_module", "_finalize_dynamic_globals", "_ensure_finalized")
    if not all(hasattr(JITCodeLibrary, name) for name in (*steps, "_verify_declare_only_symbols")):
        return None

    class BitcodeLibrary(JITCodeLibrary):
        """The LLVM code of one function, which is linked into its callers as it is."""

        def _optimize_final_module(self) -> None:
            pass

        def _finalize_final_module(self) -> None:
            self._finalize_dynamic_globals()
            self._verify_declare_only_symbols()
            self._finalized = True

        def get_pointer_to_function(self, name: str) -> int:
            self._ensure_finalized()
            return 0

        @property
        def codegen(self) -> Any:
            return self  # Numba asks for it to call `set_env`, on machine code that is not there

        def set_env(self, name: str, env: Any) -> None:
            pass

    class InnerCompiler(Compiler):
        """Numba's compiler with a library of that kind."""

        def define_pipelines(self) -> Any:
            state = self.state
            state.library = BitcodeLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
            return super().define_pipelines()

    return InnerCompiler


_inner_compiler = compiler_of_inner_functions()


def _compile_for_callers(function: Callable[..., Any], **options: Any) -> Any:
    if _inner_compiler is not None:
        options |= {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "pipeline_class": _inner_compiler}
    dispatcher = njit(nogil=True, error_model="numpy", **options)(function)
    dispatcher.__class__ = InnerFunction
    return dispatcher


def _compile_for_python(function: Callable[..., Any], version: str = "", **options: Any) -> Any:
    return jit_with_cache(function, version, nogil=True, error_model="numpy", **options)
