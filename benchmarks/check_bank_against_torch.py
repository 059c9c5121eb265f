"""Filter banks, ReLU and max pooling of heatsim against PyTorch's conv2d, relu and max_pool2d, on random problems.

    python benchmarks/check_bank_against_torch.py [--problems 60] [--device cpu]

Needs PyTorch beside heatsim's dependencies (`pip install torch`; the CPU build will do) and heatsim on the path. Exit
code 1 if anything differs by more than rounding: 64 units of the sum of the magnitudes, for the kernel and its peer
together. ReLU and max pooling must be equal.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn import functional

sys.path.insert(0, str(Path(__file__).parents[1] / "kernels"))
from heatsim_kernels.filter_bank import BANK_KERNELS, filter_bank, max_pool, relu


def problem(rng: np.random.Generator) -> tuple[tuple[np.ndarray, np.ndarray, np.ndarray], dict[str, Any]]:
    """Images, filters and bias, and stride and padding, of all sorts."""
    dtype = (np.float32, np.float64)[rng.integers(2)]
    mask, padding, stride = rng.integers(1, 12, 2), rng.integers(0, 6, 2), rng.integers(1, 4, 2)
    batch, channels, filters = rng.integers(1, 4), rng.integers(1, 9), rng.integers(1, 40)
    image = mask + rng.integers(2, 120, 2)
    shapes = (batch, channels, *image), (filters, channels, *mask), (filters,)
    images, weights, bias = (rng.standard_normal(shape).astype(dtype) for shape in shapes)
    return (images, weights, bias), {"stride": tuple(map(int, stride)), "padding": tuple(map(int, padding))}


def torch_bank(data: tuple[np.ndarray, ...], options: dict[str, Any]) -> np.ndarray:
    images, filters, bias = map(torch.from_numpy, data)
    return np.asarray(functional.conv2d(images, filters, bias, **options))


def worst(data: tuple[np.ndarray, ...], options: dict[str, Any], kernel: str, device: str) -> float:
    """The largest difference, in rounding units of the sum of magnitudes."""
    images, filters, bias = data
    size = torch_bank(tuple(np.abs(part).astype(np.float64) for part in data), options)
    found = filter_bank(images, filters, bias=bias, kernel=kernel, device=device, **options)
    difference = np.abs(found.astype(np.float64) - torch_bank(data, options))
    return float((difference / size).max() / np.finfo(images.dtype).eps)


def pooling_differs(rng: np.random.Generator, images: np.ndarray, device: str) -> bool:
    """Whether ReLU or max pooling differ from PyTorch's, whole windows or with the edge."""
    window = tuple(int(min(rng.integers(1, 6), n)) for n in images.shape[2:])
    stride, keep = tuple(int(s) for s in rng.integers(1, 4, 2)), bool(rng.integers(2))
    tensor = torch.from_numpy(images)
    theirs = functional.max_pool2d(tensor, window, stride, ceil_mode=keep)
    ours = max_pool(images, window, stride, keep_edge=keep, device=device)
    return not (np.array_equal(ours, theirs) and np.array_equal(relu(images, device=device), functional.relu(tensor)))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", type=int, default=60)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    args = parser.parse_args()
    rng, names = np.random.default_rng(1), [name for name, on in BANK_KERNELS.items() if args.device in on]
    largest, wrong = dict.fromkeys(names, 0.0), 0
    for _ in range(args.problems):
        data, options = problem(rng)
        for name in names:
            largest[name] = max(largest[name], worst(data, options, name, args.device))
        wrong += pooling_differs(rng, data[0], args.device)
    for name, units in largest.items():
        print(f"{name:9s} {units:8.2f} rounding units of the sum of magnitudes at most")
    print(f"ReLU and max pooling differ in {wrong} of {args.problems} problems")
    return int(wrong > 0 or max(largest.values()) > 64)


if __name__ == "__main__":
    sys.exit(main())
