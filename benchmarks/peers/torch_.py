"""PyTorch: one step of ghosted fields under torch.compile, in a Python time loop."""

import numpy as np

from .problem import NUMBER, Sweeps, missing, potential

NAME, DISTRIBUTION, BOUNDARY = "torch.compile", "torch", "ghost"
SETTINGS = "torch.compile (inductor, C++ with OpenMP), out of one ghosted field into another, Python time loop"


def available() -> str | None:
    return missing("torch")


def prepare(initial: np.ndarray) -> Sweeps:
    import torch

    @torch.compile
    def sweep(old: torch.Tensor, new: torch.Tensor) -> None:
        drives, inner = potential(old), new[1:-1, 1:-1, 1:-1]
        neighbours = drives[2:, 1:-1, 1:-1] + drives[:-2, 1:-1, 1:-1]
        neighbours = neighbours + drives[1:-1, 2:, 1:-1] + drives[1:-1, :-2, 1:-1]
        neighbours = neighbours + drives[1:-1, 1:-1, 2:] + drives[1:-1, 1:-1, :-2]
        change = NUMBER * (neighbours - 6 * drives[1:-1, 1:-1, 1:-1])
        inner.copy_(old[1:-1, 1:-1, 1:-1] + change)

    fields = [torch.from_numpy(np.pad(initial, 1)), torch.from_numpy(np.pad(np.zeros_like(initial), 1))]

    def advance(steps: int) -> None:
        with torch.no_grad():
            for _ in range(steps):
                sweep(*fields)
                fields.reverse()

    return Sweeps(advance, lambda: fields[0][1:-1, 1:-1, 1:-1].numpy())
