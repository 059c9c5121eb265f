"""Run small banks on the CUDA simulator: `NUMBA_ENABLE_CUDASIM=1 python simulate_banks.py RESULT.npz`.

A process of its own, because the simulator is chosen once, when Numba is imported. It compiles nothing.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from bank_cases import Bank
from heatsim_kernels.field.filter_bank import BANK_KERNELS, filter_bank, max_pool, relu

ON_CUDA = [name for name, devices in BANK_KERNELS.items() if "cuda" in devices]
# Tiles that stand out over the image on every side, and tiles that meet.
BANKS = {
    "two images, two channels": (Bank((2, 2, 3, 5), (2, 3, 2), padding=(1, 0), relu=True), np.float32),
    "strides and pooling": (Bank((1, 1, 6, 9), (1, 2, 3), (1, 2), (1, 1), ((2, 2), (1, 2)), True), np.float64),
    "a window larger than a tile": (Bank((1, 1, 9, 2), (1, 1, 1), pool=((9, 1), (1, 1))), np.float32),
}
IMAGES = np.random.default_rng(9).standard_normal((2, 5, 7)).astype(np.float32)
POOL = ((2, 3), (2, 2))


def main(target: str) -> None:
    found: dict[str, Any] = {}
    for name, (bank, dtype) in BANKS.items():
        images, filters, bias = bank.data(dtype)
        for kernel in ON_CUDA:
            out = filter_bank(images, filters, bias=bias, kernel=kernel, device="cuda", **bank.options())
            found[f"{kernel}: {name}"] = out
    found["relu"] = relu(IMAGES, device="cuda")
    for keep in (False, True):
        found[f"max_pool {keep}"] = max_pool(IMAGES, *POOL, keep_edge=keep, device="cuda")
    np.savez(target, **found)


if __name__ == "__main__":
    main(sys.argv[1])
