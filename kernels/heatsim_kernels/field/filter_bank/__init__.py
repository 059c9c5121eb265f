"""Filter banks: many 2-D filters over images of several channels, with ReLU and max pooling; one kernel a file.

    Output[b, k, y, x] = bias[k] + sum over c, ky, kx of Input[b, c, y s + ky - p, x s + kx - p] Kernel[k, c, ky, kx]

A correlation, as deep learning has it: stride s, padding p of zeros, out = (in + 2 p - mask) // s + 1. All kernels, on
the CPU and on CUDA devices, start at the bias, add with one fused multiply-add a tap in the order c, ky, kx, and give
the same bits; `im2col` on the CPU alone does not, since a BLAS has an order of its own.

    kernel     what is shared                                                       CPU   CUDA
    direct     nothing: one thread a pixel (CPU: one row a filter)                  yes   yes
    shared     the input tile, among a block's pixels                               -     yes
    hnmtp      a weight among a tile's pixels: one thread a filter                  -     yes
    im2col     a matrix product of filters and patches                              yes   yes
    register   both: a thread (CPU: a core) has a patch of pixels times filters     yes   yes

Limits: `direct` takes any mask, the CPU kernels too; on CUDA the tile must fit 48 KiB of shared memory, for `register`
at stride 1 masks up to 57 x 57 in float32 and 33 x 33 in float64. "auto" is `register` where it fits, else `direct`.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from heatsim_kernels.field.filter_bank.geometry import BankGeometry, Pair, PoolSize, geometry, pool_pair, pooled

# Name -> devices that have it, in reading order.
BANK_KERNELS: dict[str, tuple[str, ...]] = {
    "direct": ("cpu", "cuda"),
    "shared": ("cuda",),
    "hnmtp": ("cuda",),
    "im2col": ("cpu", "cuda"),
    "register": ("cpu", "cuda"),
}
DEVICES = ("cpu", "cuda")
REALS = (np.float32, np.float64)


class Epilogue(NamedTuple):
    """What a filter bank does with a response before it is written to memory."""

    relu: bool = False
    """Whether negative values become zero."""
    pool: PoolSize = None
    """None, a window, or (window, stride), each in pixels or a pair (y, x). The maxima of whole windows, after the
    ReLU, take the place of the response."""


PLAIN = Epilogue()


def filter_bank(
    images: Any,
    filters: Any,
    *,
    stride: int | Pair = 1,
    padding: int | Pair = 0,
    bias: Any = None,
    kernel: str = "auto",
    device: str = "cpu",
    epilogue: Epilogue = PLAIN,
) -> np.ndarray:
    """The response of every filter to every image, (batch, filters, y, x); see the module for the formula.

    Parameters
    ----------
    images : (batch, channels, y, x), float32 or float64
    filters : (filters, channels, mask y, mask x), used in the images' type
    stride, padding : cells, or a pair (y, x)
    bias : (filters,), added to each filter's response; None for none
    kernel : a name of BANK_KERNELS, or "auto"
    device : "cpu" or "cuda"
    epilogue : what is done with a response before it is written to memory

    Raises `ValueError` for shapes that do not fit, a stride of 0, a negative padding, and names that there are not.
    """
    images, filters = _reals(images), np.asarray(filters)
    shape = geometry(images.shape, filters.shape, stride, padding, epilogue.pool)
    weights = np.ascontiguousarray(filters, images.dtype)
    start = np.zeros(shape.filters, images.dtype) if bias is None else np.ascontiguousarray(bias, images.dtype)
    if start.shape != (shape.filters,):
        raise ValueError(f"bias must have a value for each of {shape.filters} filters; its shape is {start.shape}")
    name = _chosen(kernel, device, shape, images.dtype)
    if device == "cpu":
        found: np.ndarray = import_module(f".cpu.{name}", __package__).run(images, weights, start, shape, epilogue.relu)
        return found
    from heatsim_kernels.device.cuda.arrays import on_device
    from heatsim_kernels.field.filter_bank.cuda.bank import CudaFilterBank

    out = CudaFilterBank(weights, start, shape, epilogue.relu, name).respond(on_device(images.reshape(-1))).host()
    return out.reshape(shape.batch, shape.filters, *shape.output)


def relu(values: Any, *, device: str = "cpu") -> np.ndarray:
    """max(value, 0) of an array of any shape, float32 or float64."""
    given = _reals(values)
    _check_device(device)
    if not given.size:
        return given.copy()
    if device == "cpu":
        from heatsim_kernels.field.filter_bank.cpu.strips import relu as on_cpu

        return on_cpu(given)
    from heatsim_kernels.device.cuda.arrays import on_device
    from heatsim_kernels.field.filter_bank.cuda.bank import relu as on_cuda

    return on_cuda(on_device(given.reshape(-1))).host().reshape(given.shape)


def max_pool(
    images: Any, window: int | Pair, stride: int | Pair | None = None, *, keep_edge: bool = False, device: str = "cpu"
) -> np.ndarray:
    """The largest value of each window of the last two axes of an array (..., y, x), float32 or float64.

    `stride` is the window's unless given. The windows lie whole in the array; with `keep_edge` one more, cut off, takes
    what is left at the ends, so that with stride = window no peak is lost. Raises `ValueError` for windows that do not
    fit and for a window or stride of 0.
    """
    images = _reals(images)
    _check_device(device)
    if images.ndim < 2 or not images.size:
        raise ValueError(f"max pooling needs an array (..., y, x) with something in it; its shape is {images.shape}")
    pool, image = pool_pair(window, stride), images.shape[-2:]
    extent = pooled(image, pool, keep_edge=keep_edge)
    planes = images.reshape(-1, *image)
    if device == "cpu":
        from heatsim_kernels.field.filter_bank.cpu.strips import max_pool as on_cpu

        out = on_cpu(planes, pool, extent)
    else:
        from heatsim_kernels.device.cuda.arrays import on_device
        from heatsim_kernels.field.filter_bank.cuda.bank import max_pool as on_cuda

        out = on_cuda(on_device(planes.reshape(-1)), len(planes), image, pool, extent).host()
    return out.reshape(*images.shape[:-2], *extent)


def _reals(values: Any) -> np.ndarray:
    values = np.asarray(values)
    if values.dtype not in REALS:
        raise ValueError(f"values must be float32 or float64, not {values.dtype}")
    return np.ascontiguousarray(values)


def _check_device(device: str) -> None:
    if device not in DEVICES:
        raise ValueError(f"no device {device!r}; there are {', '.join(DEVICES)}")


def _chosen(kernel: str, device: str, shape: BankGeometry, dtype: np.dtype) -> str:
    """The kernel's name; "auto" is the fastest that takes the mask."""
    _check_device(device)
    if kernel == "auto":
        return "register" if device == "cpu" or _fits_register(shape, dtype) else "direct"
    if device not in BANK_KERNELS.get(kernel, ()):
        names = [name for name, devices in BANK_KERNELS.items() if device in devices]
        raise ValueError(f"no filter bank kernel {kernel!r} on {device}; there are auto, {', '.join(names)}")
    return kernel


def _fits_register(shape: BankGeometry, dtype: np.dtype) -> bool:
    from heatsim_kernels.field.filter_bank.cuda.bank import fits

    return fits(shape, dtype, "register")


__all__ = ["BANK_KERNELS", "filter_bank", "max_pool", "relu"]
