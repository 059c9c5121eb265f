"""The one door to `numba.cuda` and `cuda.bindings`: all that is CUDA takes them from here.

That package (numba-cuda) is in maintenance and will have a successor; a change of it must touch this file alone.
Importing this module needs numba-cuda but no GPU: kernels compile for any device without one, and with
NUMBA_ENABLE_CUDASIM=1 they run on its simulator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache, wraps
from types import SimpleNamespace
from typing import Any

from numba import config, cuda, types
from numba.core import cgutils

SIMULATED = bool(config.ENABLE_CUDASIM)
config.CUDA_LOW_OCCUPANCY_WARNINGS = False  # small grids are a user's right

intrinsic: Any = None  # the simulator runs Python
if not SIMULATED:
    from numba.cuda import extending

    intrinsic = extending.intrinsic


def _spare_copies() -> None:
    """Have Numba copy no function before it inlines it, which took half of the time to compile a kernel.

    `inline_function` makes the code for the one place that it goes to, but `inline_ir` does not know that and makes two
    deep copies (numba-cuda's issue 688). A numba-cuda that is built otherwise is left as it is.
    """
    with suppress(ImportError, AttributeError):
        from numba.cuda.core import inline_closurecall as module

        usual: Any = module.InlineWorker.inline_function
        uncopied = SimpleNamespace(deepcopy=lambda code: code)

        @wraps(usual)  # it calls itself for what it inlines, all under Numba's lock
        def inline_function(*args: Any, **options: Any) -> Any:
            before, module.copy = module.copy, uncopied
            try:
                return usual(*args, **options)
            finally:
                module.copy = before

        module.InlineWorker.inline_function = inline_function


if not SIMULATED:
    _spare_copies()


def inlined(function: Callable[..., Any]) -> Any:
    """A device function that is inlined into the kernels that call it."""
    return cuda.jit(device=True, inline="always")(function)


def compiled_once(function: Callable[..., Any], like: int) -> Any:
    """A device function that kernels call in many places: compiled once for its argument types, then inlined by NVVM.

    `inlined` copies Python's code to each place and has all of it typed there again, which took a minute for 32 places.
    Its result has the type of argument number `like`.
    """
    if SIMULATED:
        return function

    def call(typing_context: Any, *args: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, values: Sequence[Any]) -> Any:
            unpacked = cgutils.unpack_tuple(builder, values[0], len(args))
            return context.compile_internal(builder, function, args[like](*args), unpacked)

        return args[like](types.StarArgTuple.from_types(args)), codegen

    return intrinsic(call)


@cache
def driver() -> Any:
    """NVIDIA's binding of the CUDA driver, a module."""
    from cuda.bindings import driver as module

    return module


def linker() -> Any:
    """NVIDIA's binding of nvJitLink, which assembles kernels; a module."""
    from cuda.bindings import nvjitlink

    return nvjitlink


EXHAUSTED = "the GPU has no more free; other programs may use it"


@contextmanager
def memory_errors() -> Iterator[None]:
    """Raise `MemoryError` where numba.cuda tells in an error of its own that the GPU's memory is exhausted."""
    try:
        yield
    except Exception as error:
        if "OUT_OF_MEMORY" in str(error):
            raise MemoryError(EXHAUSTED) from error
        raise


def driver_call(answer: Any) -> Any:
    """The result of a function of `driver()`; raises `MemoryError`, or `RuntimeError` with the driver's reason."""
    error, *result = answer
    if error == driver().CUresult.CUDA_ERROR_OUT_OF_MEMORY:
        raise MemoryError(EXHAUSTED)
    if error != driver().CUresult.CUDA_SUCCESS:
        reason = driver().cuGetErrorString(error)[1]
        raise RuntimeError(f"CUDA: {reason.decode() if isinstance(reason, bytes) else reason}")
    return result[0] if result else None


def device_name() -> str:
    """The name of the current GPU; raises `RuntimeError` saying why where there is none that works."""
    if SIMULATED:
        return "the CUDA simulator"
    try:
        name = cuda.get_current_device().name
    except Exception as error:  # numba.cuda raises many kinds, from a missing driver to a missing toolkit
        raise RuntimeError(_reason(error)) from error
    return name.decode() if isinstance(name, bytes) else str(name)


def _reason(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def take_device(number: int) -> str:
    """Use this GPU from now on, of those that the process may use, counted around; before anything else is done with
    one. Returns what tells it from all others of the machine. Raises `RuntimeError` where there is none."""
    if SIMULATED:
        return "simulator"
    try:
        cuda.select_device(number % len(cuda.gpus))
        return str(cuda.get_current_device().uuid)
    except Exception as error:
        raise RuntimeError(_reason(error)) from error


def device_number() -> int:
    """The number of the current GPU among those that the process may use."""
    return 0 if SIMULATED else int(cuda.get_current_device().id)


def shared_memory() -> int:
    """Bytes of shared memory that a block may have on the current GPU."""
    if SIMULATED:
        return 2**16
    kind = driver().CUdevice_attribute.CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN
    return int(driver_call(driver().cuDeviceGetAttribute(kind, cuda.get_current_device().id)))


def memory() -> tuple[int, int]:
    """Free and total memory of the current GPU, bytes."""
    if SIMULATED:
        return 2**30, 2**30
    info = cuda.current_context().get_memory_info()
    return int(info.free), int(info.total)


__all__ = [
    "SIMULATED",
    "compiled_once",
    "cuda",
    "device_name",
    "device_number",
    "driver",
    "driver_call",
    "inlined",
    "intrinsic",
    "linker",
    "memory",
    "memory_errors",
    "shared_memory",
    "take_device",
]
