"""What a convolution refuses, and in which words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from heatsim_kernels.field.convolution import convolve_lines, convolve_planes, separable
from helpers.in_turn import in_turn

FIELD = np.ones((4, 6))
MASK = np.ones(3)


@in_turn(
    ("arguments", "message"),
    [
        ({"mask": np.ones(4)}, "4 wide, but must be odd"),
        ({"mask": np.ones(33)}, "33 wide, but must be odd and at most 31"),
        ({"mask": np.ones((3, 3))}, "2 axes where 1 are wanted"),
        ({"mask": np.array([1, np.nan, 1])}, "finite"),
        ({"edge": "mirror"}, "edge 'mirror' is unknown; there are zero, nearest, reflect, wrap"),
        ({"kernel": "fastest"}, "kernel 'fastest' is unknown; there are auto, cpu, basic"),
        ({"kernel": "output_tiled"}, "kernel 'output_tiled' is unknown"),
        ({"kernel": "tiled"}, "'tiled' does not run on the device 'cpu'"),
        ({"kernel": "cpu", "device": "cuda"}, "'cpu' does not run on the device 'cuda'"),
        ({"device": "tpu"}, "device 'tpu' is unknown"),
        ({"axis": 2}, "no axis 2"),
        ({"field": np.ones((4, 6), np.int32)}, "float32 or float64, not int32"),
        ({"field": np.ones((0, 6))}, "no cells"),
        ({"field": np.ones((2, 2, 2, 2))}, "4 axes where 1 to 3"),
        ({"field": np.ones((4, 12))[:, ::2]}, "neighbours in memory"),
        ({"out": np.ones((4, 5))}, "out is"),
        ({"out": np.ones((4, 6), np.float32)}, "out is"),
        ({"out": FIELD}, "must not share memory"),
    ],
)
def test_lines_refuse(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        convolve_lines(**{"field": FIELD, "mask": MASK, **arguments})


@in_turn(
    ("arguments", "message"),
    [
        ({"mask": MASK}, "1 axes where 2 are wanted"),
        ({"mask": np.ones((3, 2))}, "2 wide, but must be odd"),
        ({"field": np.ones(6)}, "1 axes where 2 to 3"),
        ({"channels": True}, "2 axes where 3 to 3"),
        ({"field": np.ones((4, 12, 3))[:, ::2], "channels": True}, "pixels of a row must be neighbours"),
    ],
)
def test_planes_refuse(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        convolve_planes(**{"field": FIELD, "mask": np.ones((3, 3)), **arguments})


def test_a_separable_filter_needs_a_mask_an_axis() -> None:
    with pytest.raises(ValueError, match="1 masks for a field of 2 axes"):
        separable(FIELD, [MASK])


def test_a_device_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    cuda_pass = pytest.importorskip(
        "heatsim_kernels.field.convolution.cuda.mask_pass", reason="numba-cuda is not installed"
    )

    def none_works() -> str:
        raise RuntimeError("no driver")

    monkeypatch.setattr(cuda_pass, "device_name", none_works)
    with pytest.raises(RuntimeError, match="no driver"):
        convolve_lines(FIELD, MASK, device="cuda")
    with pytest.raises(RuntimeError, match="no driver"):
        convolve_planes(FIELD, np.ones((3, 3)), device="cuda")
