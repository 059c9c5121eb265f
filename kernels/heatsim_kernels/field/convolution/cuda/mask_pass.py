"""Passes of a mask over fields on a CUDA device.

A field lies there in rows of whole 16-byte pieces, so rows may be a little further apart than they are long (pitch);
what lies between is nobody's. A `MaskPass` is what a kernel and its arguments are made of; it is launched on flat
arrays as often as wanted, and the separable filters are several passes one after another.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from heatsim_kernels.device.cuda.api import device_name
from heatsim_kernels.device.cuda.arrays import Array, empty, on_device
from heatsim_kernels.device.cuda.launch import kernel
from heatsim_kernels.field.convolution.cuda import register
from heatsim_kernels.field.convolution.cuda.field_access import ConvolutionGeometry, ConvolutionVariant, MaskKernel

PIECE = 4  # elements that kernels load at once


class FieldLayout(NamedTuple):
    """A field (planes, rows, elements) on the device: rows `pitch` elements apart, planes one after another, and
    `channels` elements in a cell."""

    shape: tuple[int, int, int]
    pitch: int
    channels: int = 1

    @classmethod
    def of(cls, shape: tuple[int, int, int], channels: int = 1) -> FieldLayout:
        """Rows of whole pieces."""
        return cls(shape, -(-shape[2] // PIECE) * PIECE, channels)

    @property
    def items(self) -> int:
        """Elements of an array that holds the field, with what lies between rows."""
        planes, rows, _ = self.shape
        return planes * rows * self.pitch


class MaskPass(NamedTuple):
    """One kernel with all but the fields: launch it with `run(source, target)`."""

    movement: MaskKernel
    variant: ConvolutionVariant
    geometry: ConvolutionGeometry
    weights: Any  # what the kernel is given of the mask: (), (array,) or (tuple,)

    def run(self, source: Array, target: Array) -> None:
        """Launch on flat arrays of the layout's size; returns at once."""
        shape = int(self.geometry.nz), int(self.geometry.ny), int(self.geometry.nx)
        across, down = self.movement.block(self.variant)
        args = (source, target, self.geometry, *self.weights)
        launch = kernel(self.movement.build, self.variant, args, (across * down, 1))
        launch(self.movement.grid(shape, self.variant), (across, down, 1), args)


def require_device() -> None:
    """Raise `RuntimeError`, saying why, where there is no GPU that works."""
    device_name()


def plane_pass(layout: FieldLayout, mask: np.ndarray, edge: int, name: str) -> MaskPass:
    """A pass of a 2-D mask, as correlation has it and of the field's type, by a CUDA kernel of `PLANE_KERNELS`.

    Raises `ValueError` for a mask too large for `register`. That one takes no interleaved channels.
    """
    planes, rows, elements = layout.shape
    if layout.channels == 1:
        geometry = (planes, rows, elements, rows * layout.pitch, layout.pitch, 1)
    else:  # one plane
        geometry = (layout.channels, rows, elements // layout.channels, 1, layout.pitch, layout.channels)
    return _pass(kernel_of(name, lines=False), mask, edge, False, geometry)


def line_pass(layout: FieldLayout, mask: np.ndarray, axis: int, edge: int, name: str) -> MaskPass:
    """A pass of a 1-D mask along axis 0, 1 or 2 of a field (planes, rows, elements), by a CUDA kernel of
    `LINE_KERNELS`; see `plane_pass`."""
    planes, rows, elements = layout.shape
    plane = rows * layout.pitch
    geometry = {
        0: (rows, planes, elements, layout.pitch, plane, 1),
        1: (planes, rows, elements, plane, layout.pitch, 1),
        2: (1, planes * rows, elements, 0, layout.pitch, 1),
    }[axis]
    if name == "register":
        return _pass(register.LINES, mask[None] if axis == 2 else mask[:, None], edge, False, geometry)
    return _pass(kernel_of(name, lines=True), mask[None], edge, axis != 2, geometry)


def kernel_of(name: str, *, lines: bool) -> MaskKernel:
    """The CUDA kernel of a name in `LINE_KERNELS` or `PLANE_KERNELS`."""
    if name == "register":
        return register.LINES if lines else register.PLANES
    module = import_module(f"heatsim_kernels.field.convolution.ladder.{name}")
    found: MaskKernel = module.LINES if lines else module.PLANES
    return found


def best_for_planes(mask: np.ndarray) -> str:
    """The kernel that "auto" stands for."""
    return "register" if register.fits(mask) else "output_tiled"


def best_for_lines(mask: np.ndarray, axis: int) -> str:
    """The kernel that "auto" stands for."""
    return "register" if register.fits(mask[None] if axis == 2 else mask[:, None]) else "tiled"


def _pass(movement: MaskKernel, mask: np.ndarray, edge: int, down: bool, geometry: tuple[int, ...]) -> MaskPass:
    if movement is register.PLANES and not register.fits(mask):
        raise ValueError(f"a mask of {' x '.join(map(str, mask.shape))} {mask.dtype} is too large for 'register'")
    variant = ConvolutionVariant(mask.dtype.name, edge, mask.shape[0], mask.shape[1], down=down)
    weights: tuple[Any, ...] = ()
    if movement.mask == "argument":
        weights = (on_device(mask.reshape(-1)),)
    elif movement.mask == "arguments":
        weights = (tuple(mask.reshape(-1)),)
    else:
        variant = variant._replace(weights=tuple(mask.reshape(-1).tolist()))
    return MaskPass(movement, variant, ConvolutionGeometry(*map(np.uint32, geometry)), weights)


def convolve(values: np.ndarray, passes: list[MaskPass], layout: FieldLayout) -> np.ndarray:
    """Copy a field (planes, rows, elements) to the device, launch passes, and copy the result back."""
    planes, rows, elements = layout.shape
    padded = np.zeros((planes, rows, layout.pitch), values.dtype)
    padded[:, :, :elements] = values
    source, target = on_device(padded.reshape(-1)), empty(layout.items, values.dtype)
    for each in passes:
        each.run(source, target)
        source, target = target, source
    return source.host().reshape(padded.shape)[:, :, :elements]
