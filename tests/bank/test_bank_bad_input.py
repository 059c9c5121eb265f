"""What a filter bank refuses, and what it says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from heatsim_kernels.field.filter_bank import Epilogue, filter_bank, max_pool, relu
from helpers.in_turn import in_turn

IMAGES = np.zeros((1, 2, 8, 9), np.float32)
FILTERS = np.zeros((3, 2, 3, 3), np.float32)


@in_turn(
    ("changes", "message"),
    [
        ({"stride": 0}, "stride must be an integer of at least 1"),
        ({"stride": (1, 0)}, r"stride .* it is \(1, 0\)"),
        ({"stride": 1.5}, "stride must be an integer"),
        ({"stride": True}, "stride must be an integer"),
        ({"stride": (1, 1, 1)}, "stride must be an integer"),
        ({"padding": -1}, "padding must be an integer of at least 0"),
        ({"epilogue": Epilogue(pool=0)}, "pooling window must be an integer of at least 1"),
        ({"epilogue": Epilogue(pool=(2, 0))}, "pooling stride must be an integer of at least 1"),
        ({"epilogue": Epilogue(pool=7)}, "a pooling window of 7 cells in y is wider than the 6"),
        ({"images": np.zeros((8, 9), np.float32)}, r"images must be \(batch, channels, y, x\)"),
        ({"filters": np.zeros((3, 3, 3), np.float32)}, r"filters must be \(filters, channels, y, x\)"),
        ({"filters": np.zeros((3, 4, 3, 3), np.float32)}, "filters expect 4 channels, but the images have 2"),
        ({"filters": np.zeros((0, 2, 3, 3), np.float32)}, "nothing to filter"),
        ({"filters": np.zeros((1, 2, 3, 10), np.float32)}, "10 cells wide in x exceeds the image of 9"),
        ({"images": IMAGES.astype(np.int32)}, "float32 or float64, not int32"),
        ({"bias": np.zeros(2)}, "bias must have a value for each of 3 filters"),
        ({"kernel": "winograd"}, "no filter bank kernel 'winograd' on cpu; there are auto, direct, im2col, register"),
        ({"kernel": "shared"}, "no filter bank kernel 'shared' on cpu"),
        ({"device": "tpu"}, "no device 'tpu'"),
    ],
)
def test_a_bank_that_cannot_be_is_refused_with_the_reason(changes: dict[str, Any], message: str) -> None:
    given = {"images": IMAGES, "filters": FILTERS} | changes
    images, filters = given.pop("images"), given.pop("filters")
    with pytest.raises(ValueError, match=message):
        filter_bank(images, filters, **given)


def test_pooling_and_relu_refuse_what_they_cannot_do() -> None:
    for window, stride, message in ((0, None, "window"), (2, 0, "stride"), (9, None, "wider"), ((2, -1), 1, "window")):
        with pytest.raises(ValueError, match=message):
            max_pool(IMAGES, window, stride)
    with pytest.raises(ValueError, match="something in it"):
        max_pool(np.zeros(3, np.float32), 1)
    with pytest.raises(ValueError, match="float32 or float64"):
        relu(np.arange(3))
