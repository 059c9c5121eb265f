"""Convolution: smoothing passes of a mask over a field, on the CPU and on CUDA devices, one data movement a file.

`convolve_lines` passes a 1-D mask along an axis, `convolve_planes` a 2-D mask over planes, `separable` a mask an axis.
They are convolutions as `scipy.ndimage.convolve` and `convolve1d` have them: the mask is turned round, so weight k of a
mask of 2n+1 goes with the element n - k places further on. (`scipy.ndimage.correlate` does not turn it; for a mask that
is its own mirror image, as smoothing masks are, the two are one.)

All kernels of a family, and the CPU, give the same bits: weights and elements are of the field's type, and a result is
`sum = fma(weight, element, sum)`, from the element of lowest row and then column on, beginning with zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from heatsim_kernels.field.convolution.edges import EDGES

if TYPE_CHECKING:
    import numpy as np

# Kernels by name, in reading order; the same names serve scenario files, the command line and the tests.
LINE_KERNELS = ("cpu", "basic", "constant", "tiled", "cached", "register")
PLANE_KERNELS = ("cpu", "basic", "constant", "tiled", "output_tiled", "cached", "register")
DEVICES = ("cpu", "cuda")
__all__ = ["DEVICES", "EDGES", "LINE_KERNELS", "PLANE_KERNELS", "convolve_lines", "convolve_planes", "separable"]


def convolve_lines(
    field: np.ndarray,
    mask: np.ndarray,
    axis: int = -1,
    edge: str = "reflect",
    kernel: str = "auto",
    device: str = "cpu",
    out: np.ndarray | None = None,
) -> np.ndarray:
    """A field of one to three axes convolved with a 1-D mask along an axis, as `scipy.ndimage.convolve1d` does it.

    field: float32 or float64; its rows contiguous, but as far apart as they may be (pitch).
    mask: odd, at most `masks.WIDEST` weights; rounded to the field's type. It may be wider than the field.
    edge: one of EDGES. kernel: "auto" or one of LINE_KERNELS; "cpu" is for the device "cpu" and the others for "cuda".
    out: where to write, of the field's shape and type and with a pitch of its own; a new array if None.

    Raises `ValueError` for what is not so, and `RuntimeError` where there is no CUDA device that works.
    """
    from heatsim_kernels.field.convolution import masks

    masks_by_axis: list[np.ndarray | None] = [None] * field.ndim
    masks_by_axis[_axis(axis, field.ndim)] = masks.checked(mask, 1)
    return separable(field, masks_by_axis, edge, kernel, device, out)


def separable(
    field: np.ndarray,
    masks: Sequence[np.ndarray | None],
    edge: str = "reflect",
    kernel: str = "auto",
    device: str = "cpu",
    out: np.ndarray | None = None,
) -> np.ndarray:
    """A field of one to three axes convolved with a 1-D mask along each, the first axis first; None leaves an axis.

    The arguments are those of `convolve_lines`. The bits are those of one pass after another.
    """
    from heatsim_kernels.field.convolution import dispatch

    return dispatch.lines(field, masks, _place(edge), _checked(kernel, device, LINE_KERNELS), out)


def convolve_planes(
    field: np.ndarray,
    mask: np.ndarray,
    edge: str = "reflect",
    kernel: str = "auto",
    device: str = "cpu",
    channels: bool = False,
    out: np.ndarray | None = None,
) -> np.ndarray:
    """Planes (ny, nx) or (n, ny, nx) convolved with a 2-D mask, as `scipy.ndimage.convolve` does it plane by plane.

    channels: whether the last of three axes is the channels of a pixel instead, (ny, nx, channels), each by itself.
    mask: (rows, columns), both odd and at most `masks.WIDEST`. kernel: "auto" or one of PLANE_KERNELS. The other
    arguments and the errors are those of `convolve_lines`.
    """
    from heatsim_kernels.field.convolution import dispatch

    return dispatch.planes(field, mask, _place(edge), _checked(kernel, device, PLANE_KERNELS), channels, out)


def _axis(axis: int, axes: int) -> int:
    if not -axes <= axis < axes:
        raise ValueError(f"there is no axis {axis} in a field of {axes}")
    return axis % axes


def _place(edge: str) -> int:
    if edge not in EDGES:
        raise ValueError(f"edge {edge!r} is unknown; there are {', '.join(EDGES)}")
    return EDGES.index(edge)


def _checked(kernel: str, device: str, known: tuple[str, ...]) -> str:
    """The kernel's name, with "auto" resolved to "cpu" or "cuda", the best for the mask."""
    if device not in DEVICES:
        raise ValueError(f"device {device!r} is unknown; there are {', '.join(DEVICES)}")
    if kernel not in ("auto", *known):
        raise ValueError(f"kernel {kernel!r} is unknown; there are auto, {', '.join(known)}")
    if kernel == "auto":
        return device
    if (kernel == "cpu") != (device == "cpu"):
        raise ValueError(f"the kernel {kernel!r} does not run on the device {device!r}")
    return kernel
