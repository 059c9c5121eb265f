"""What the functions of this package do once names are checked: fields become planes, masks are turned round."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from heatsim_kernels.field.convolution import masks
from heatsim_kernels.field.convolution.planes import Planes, aligned, checked, result_for

WHOLE = 3  # axes of a batch of planes
Weights = Sequence[np.ndarray | None]  # a mask for each axis, turned round; None leaves an axis


def lines(
    field: np.ndarray, masks_by_axis: Sequence[np.ndarray | None], edge: int, kernel: str, out: np.ndarray | None
) -> np.ndarray:
    """See `separable`; `kernel` is a name, or "cuda" for the best one there."""
    _check(field, 1)
    if len(masks_by_axis) != field.ndim:
        raise ValueError(f"{len(masks_by_axis)} masks for a field of {field.ndim} axes")
    result = result_for(field, out)
    leading = (None,) * (WHOLE - field.ndim)
    weights = [None if mask is None else _turned(mask, 1, field.dtype) for mask in (*leading, *masks_by_axis)]
    run = _lines_on_cpu if kernel == "cpu" else _lines_on_cuda
    run(field[leading], result[leading], weights, edge, kernel)
    return result


def planes(
    field: np.ndarray, mask: np.ndarray, edge: int, kernel: str, channels: bool, out: np.ndarray | None
) -> np.ndarray:
    """See `convolve_planes`; `kernel` is a name, or "cuda" for the best one there."""
    _check(field, WHOLE if channels else WHOLE - 1)
    weights, result = _turned(mask, 2, field.dtype), result_for(field, out)
    count = field.shape[-1] if channels else 1
    source, target = (_rows_of_pixels(each) if channels else each for each in (field, result))
    leading = (None,) * (WHOLE - source.ndim)
    run = _planes_on_cpu if kernel == "cpu" else _planes_on_cuda
    run(Planes(source[leading], count), Planes(target[leading], count), weights, edge, kernel)
    return result


def _check(field: np.ndarray, least: int) -> None:
    if not least <= field.ndim <= WHOLE:
        raise ValueError(f"a field of {field.ndim} axes where {least} to {WHOLE} are wanted")
    checked(field)


def _turned(mask: np.ndarray, axes: int, dtype: np.dtype) -> np.ndarray:
    """The mask as correlation has it, of the field's type."""
    return np.ascontiguousarray(np.flip(masks.checked(mask, axes)).astype(dtype))


def _rows_of_pixels(values: np.ndarray) -> np.ndarray:
    """(rows, columns, channels) as (rows, elements), a view of the same memory."""
    rows, columns, channels = values.shape
    if columns > 1 and values.strides[1] != channels * values.itemsize:
        raise ValueError("the pixels of a row must be neighbours in memory; pass numpy.ascontiguousarray(field)")
    strides = values.strides[0], values.itemsize
    return np.lib.stride_tricks.as_strided(
        values, (rows, columns * channels), strides, writeable=values.flags.writeable
    )


def _planes_on_cpu(source: Planes, target: Planes, weights: np.ndarray, edge: int, kernel: str) -> None:
    from heatsim_kernels.field.convolution.cpu import planes_kernel

    down, across = (weights, None) if len(weights) > 1 else (None, weights[0])
    planes_kernel.convolve(source, target, down, across, edge)


def _lines_on_cpu(source: np.ndarray, target: np.ndarray, weights: Weights, edge: int, kernel: str) -> None:
    from heatsim_kernels.field.convolution.cpu import planes_kernel

    passes = _cpu_passes(*weights)
    if not passes:
        target[...] = source
    for number, (down, across, first) in enumerate(passes):
        result = target if number == len(passes) - 1 else aligned(source.shape, source.dtype)
        seen, written = _across_first_axis(source, result) if first else (source, result)
        planes_kernel.convolve(Planes(seen), Planes(written), down, across, edge)
        source = result


def _cpu_passes(
    first: np.ndarray | None, second: np.ndarray | None, third: np.ndarray | None
) -> list[tuple[np.ndarray | None, np.ndarray | None, bool]]:
    """(down, across, first): the masks of a pass, and whether it goes down the planes' first axis instead of the rows.
    Down the rows and along them is one pass; a single weight is the same along any axis."""
    passes: list[tuple[np.ndarray | None, np.ndarray | None, bool]] = []
    for mask, along_first in ((first, True), (second, False)):
        if mask is not None:
            passes.append((mask[:, None], None, along_first) if mask.size > 1 else (None, mask, False))
    if third is not None:
        fusible = second is not None and second.size > 1
        down = passes.pop()[0] if fusible else None
        passes.append((down, third, False))
    return passes


def _across_first_axis(*fields: np.ndarray) -> list[np.ndarray]:
    """Fields of one shape as planes whose rows lie along the first axis; a single plane if the others are one in
    memory, since a kernel likes long rows."""
    if all(each.strides[1] == each.shape[2] * each.itemsize for each in fields):
        return [each.reshape(1, len(each), -1) for each in fields]
    return [each.transpose(1, 0, 2) for each in fields]


def _lines_on_cuda(source: np.ndarray, target: np.ndarray, weights: Weights, edge: int, kernel: str) -> None:
    from heatsim_kernels.field.convolution.cuda import mask_pass

    mask_pass.require_device()
    layout, passes = mask_pass.FieldLayout.of(source.shape), []
    for axis, mask in enumerate(weights):
        if mask is not None:
            name = mask_pass.best_for_lines(mask, axis) if kernel == "cuda" else kernel
            passes.append(mask_pass.line_pass(layout, mask, axis, edge, name))
    target[...] = mask_pass.convolve(source, passes, layout)


def _planes_on_cuda(source: Planes, target: Planes, weights: np.ndarray, edge: int, kernel: str) -> None:
    """Where a kernel takes no interleaved channels, each goes to the device as a plane of its own."""
    from heatsim_kernels.field.convolution.cuda import mask_pass

    mask_pass.require_device()
    name = mask_pass.best_for_planes(weights) if kernel == "cuda" else kernel
    values, channels, result = source.values, source.channels, target.values
    if name == "register" and channels > 1:
        values, result = (each[0].reshape(len(each[0]), -1, channels).transpose(2, 0, 1) for each in (values, result))
        channels = 1
    layout = mask_pass.FieldLayout.of(values.shape, channels)
    result[...] = mask_pass.convolve(values, [mask_pass.plane_pass(layout, weights, edge, name)], layout)
