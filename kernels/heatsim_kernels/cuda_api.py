"""The one door to `numba.cuda`: every CUDA kernel takes `cuda` from here.

That package (numba-cuda) is in maintenance and will have a successor; a change of it must touch this file alone.
Importing this module needs numba-cuda but no GPU: kernels compile for any device without one, and with
NUMBA_ENABLE_CUDASIM=1 they run on its simulator.
"""

from __future__ import annotations

from numba import config, cuda, types

from .fma import fma

SIMULATED = bool(config.ENABLE_CUDASIM)
config.CUDA_LOW_OCCUPANCY_WARNINGS = False  # small grids are a user's right

if not SIMULATED:
    from numba.cuda.extending import lower_builtin, type_callable

    @type_callable(fma)
    def _type_fma(context):
        def typer(a, b, c):
            return a if isinstance(a, types.Float) and a == b == c else None

        return typer

    def _lower_fma(context, builder, signature, args):
        return builder.fma(*args)

    for _kind in (types.float32, types.float64):
        lower_builtin(fma, _kind, _kind, _kind)(_lower_fma)


def inlined(function):
    """A device function that is inlined into the kernels that call it."""
    return cuda.jit(device=True, inline="always")(function)


def device_name() -> str:
    """The name of the current GPU; raises `RuntimeError` saying why where there is none that works."""
    try:
        name = cuda.get_current_device().name
    except Exception as error:  # numba.cuda raises many kinds, from a missing driver to a missing toolkit
        reason = " ".join(str(error).split()) or type(error).__name__
        raise RuntimeError(reason) from error
    return name.decode() if isinstance(name, bytes) else str(name)


def memory() -> tuple[int, int]:
    """Free and total memory of the current GPU, bytes."""
    info = cuda.current_context().get_memory_info()
    return int(info.free), int(info.total)


__all__ = ["SIMULATED", "cuda", "device_name", "inlined", "memory"]
