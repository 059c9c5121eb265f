"""CUDA kernels launched at the cost of a driver call.

Numba's own launch looks at every argument anew, 0.2 to 0.4 ms for a stencil sweep, longer than a sweep of 512^3 cells
takes. Here a kernel is loaded once, arguments are packed by one `struct` call, and a launch takes some microseconds.

Arguments are `Array`s, NumPy scalars (their dtype is the kernel's), and tuples of these. A launch returns at once.
Launches run one after another, on the default stream unless another is named.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Hashable
from contextlib import suppress
from functools import lru_cache
from typing import Any, NamedTuple

from numba import from_dtype, types

from heatsim_kernels.device.cuda.api import SIMULATED, cuda, driver, driver_call
from heatsim_kernels.device.cuda.arrays import Array

Triple = tuple[int, int, int]
Launch = Callable[..., None]  # of a kernel with its arguments, on the stream that it is given, or the default one


class Resources(NamedTuple):
    """What a kernel takes: registers a thread, bytes of local memory a thread (spills), bytes of shared memory a
    block, threads a block, and how many blocks a multiprocessor holds at once."""

    registers: int
    local_bytes: int
    shared_bytes: int
    threads: int
    blocks_a_multiprocessor: int


class Kernel:
    """A kernel for given argument types: `kernel(grid, block, args, shared)`; `shared` is bytes of dynamic shared
    memory. Raises `RuntimeError` with the driver's reason if a launch fails."""

    def __init__(self, build: Callable[..., Any], variant: Hashable, signature: Any, bounds: Any = None) -> None:
        from heatsim_kernels.device.cuda.compilation import binary

        cuda.current_context()  # attaches the thread
        capability = tuple(cuda.get_current_device().compute_capability)
        self._function = _loaded(binary(build, variant, signature, capability, bounds))
        codes = "".join(_codes(signature.args))
        self._pack = struct.Struct("=" + "".join(_SLOTS[code] for code in codes))
        self._parameters, self._dynamic = len(codes), 0
        self._own = self._slots()

    def __call__(self, grid: Triple, block: Triple, args: tuple[Any, ...], shared: int = 0) -> None:
        """Launch; the driver copies the arguments before it returns."""
        self._launch(self._own, grid, block, args, shared)()

    def bound(self, grid: Triple, block: Triple, args: tuple[Any, ...], shared: int = 0) -> Launch:
        """A function that launches with these arguments, packed now; it keeps their arrays."""
        return self._launch(self._slots(), grid, block, args, shared)

    def _slots(self) -> tuple[Any, Any]:
        """Where arguments are packed, eight bytes each, and pointers to each of them."""
        values = ctypes.create_string_buffer(self._pack.size)
        start = ctypes.addressof(values)
        return values, (ctypes.c_void_p * self._parameters)(*range(start, start + self._pack.size, 8))

    def _launch(
        self, slots: tuple[Any, Any], grid: Triple, block: Triple, args: tuple[Any, ...], shared: int
    ) -> Launch:
        self._allow(shared)
        flat: list[Any] = []
        _flatten(args, flat)
        self._pack.pack_into(slots[0], 0, *flat)
        given, parameters = (self._function, *grid, *block, shared), ctypes.addressof(slots[1])
        start_kernel = driver().cuLaunchKernel

        def launch(stream: int = 0, kept: Any = (slots, args)) -> None:  # kept as long as there may be launches
            driver_call(start_kernel(*given, stream, parameters, 0))

        return launch

    def resources(self, block: Triple, shared: int = 0) -> Resources:
        """What a block of this kernel takes on the current GPU."""
        self._allow(shared)
        kinds = driver().CUfunction_attribute
        registers, local, static = (
            driver_call(driver().cuFuncGetAttribute(kind, self._function))
            for kind in (
                kinds.CU_FUNC_ATTRIBUTE_NUM_REGS,
                kinds.CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES,
                kinds.CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES,
            )
        )
        threads = block[0] * block[1] * block[2]
        fitting = driver_call(driver().cuOccupancyMaxActiveBlocksPerMultiprocessor(self._function, threads, shared))
        return Resources(registers, local, static + shared, threads, fitting)

    def _allow(self, shared: int) -> None:
        """Ask for more dynamic shared memory than the 48 KiB that a kernel may use unasked."""
        if shared <= max(self._dynamic, 48 * 1024):
            return
        kind = driver().CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        driver_call(driver().cuFuncSetAttribute(self._function, kind, shared))
        self._dynamic = shared


class _SimulatedKernel:
    """The same on the simulator, which compiles nothing."""

    def __init__(self, build: Callable[..., Any], variant: Hashable) -> None:
        self._kernel = cuda.jit(build(variant))

    def __call__(self, grid: Triple, block: Triple, args: tuple[Any, ...], shared: int = 0) -> None:
        self._kernel[grid, block, 0, shared](*_bare(args))

    def bound(self, *given: Any) -> Launch:
        return lambda stream=0: self(*given)


@lru_cache(maxsize=256)
def _kernel(build: Callable[..., Any], variant: Hashable, forms: tuple[Any, ...], bounds: Any) -> Any:
    if SIMULATED:
        return _SimulatedKernel(build, variant)
    return Kernel(build, variant, types.void(*map(_type, forms)), bounds)


def kernel(build: Callable[..., Any], variant: Hashable, args: tuple[Any, ...], bounds: Any = None) -> Any:
    """The kernel `build(variant)` for arguments like these; compiled at its first use, then at hand.

    `build` is a function of a module, and depends on its one argument and on sources alone; `bounds` is None or
    (threads a block, least blocks a multiprocessor).
    """
    return _kernel(build, variant, tuple(map(_form, args)), bounds)


def _form(value: Any) -> Any:
    """What an argument's type depends on: (Array, dtype, axes), (tuple or its class, forms...), or the dtype of a
    scalar. Made at every launch, where Numba's types would take longer than the launch."""
    if type(value) is Array:
        return Array, value.dtype, len(value.shape)
    if isinstance(value, tuple):
        return (type(value), *map(_form, value))
    return value.dtype


def _type(form: Any) -> Any:
    """The Numba type of an argument of such a form."""
    if not isinstance(form, tuple):
        return from_dtype(form)
    kind, *rest = form
    if kind is Array:
        return types.Array(from_dtype(rest[0]), rest[1], "C")
    return types.BaseTuple.from_types(tuple(map(_type, rest)), kind if hasattr(kind, "_fields") else None)


_SLOTS = {
    "B": "B7x",
    "i": "i4x",
    "I": "I4x",
    "q": "q",
    "Q": "Q",
    "f": "f4x",
    "d": "d",
}  # eight bytes for each parameter
_SCALARS = {
    types.uint8: "B",
    types.int32: "i",
    types.uint32: "I",
    types.int64: "q",
    types.uint64: "Q",
    types.float32: "f",
    types.float64: "d",
}


def _codes(args: Any) -> list[str]:
    """The parameters that Numba makes of arguments, as codes of `struct`; an array becomes meminfo, parent, items,
    bytes an item, address, shape and strides."""
    codes: list[str] = []
    for kind in args:
        if isinstance(kind, types.Array):
            codes += ["q"] * (5 + 2 * kind.ndim)
        elif isinstance(kind, types.BaseTuple):
            codes += _codes(kind)
        else:
            codes.append(_SCALARS[kind])
    return codes


def _flatten(args: tuple[Any, ...], flat: list[Any]) -> None:
    for value in args:
        if type(value) is Array:
            flat += value.parameters
        elif isinstance(value, tuple):
            _flatten(value, flat)
        else:
            flat.append(value)


def _bare(value: Any) -> Any:
    """Arguments with Numba's arrays in place of ours."""
    if isinstance(value, Array):
        return value.device
    if isinstance(value, tuple):
        parts = tuple(map(_bare, value))
        return type(value)(*parts) if hasattr(value, "_fields") else parts
    return value


def _loaded(made: Any) -> Any:
    module = driver_call(driver().cuModuleLoadData(made.code))
    function = driver_call(driver().cuModuleGetFunction(module, made.symbol.encode()))
    with suppress(RuntimeError, AttributeError):  # drivers before 12.4 have no such call
        driver_call(driver().cuFuncLoad(function))  # now, and not at its first launch, which would wait for it
    return function
