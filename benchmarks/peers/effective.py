"""The effective conductivity of a porous medium by heatsim, TauFactor and PoreSpy, each in a process of its own.

One phase conducts, the gradient is along z between two faces, the sides let nothing pass.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np


def heatsim(image: np.ndarray, device: str, threads: int) -> Callable[[], float]:
    """With bounds within 1e-4."""
    import heatsim

    return lambda: float(heatsim.effective(image, {0: 0.0, 1: 1.0}, "z", device=device).conductivity[2, 2])


def taufactor(image: np.ndarray, device: str, threads: int) -> Callable[[], float]:
    """With its criterion of convergence at 1e-3."""
    import taufactor as package
    import torch

    torch.set_num_threads(threads)

    def solve() -> float:
        solver = package.Solver(image, device=device)
        solver.solve(verbose=False, conv_crit=1e-3, iter_limit=100_000)
        return float(np.asarray(solver.D_eff).reshape(-1)[0])

    return solve


def porespy(image: np.ndarray, device: str, threads: int) -> Callable[[], float]:
    """By OpenPNM's algebraic multigrid of PyAMG, on CPUs alone."""
    if device != "cpu":
        raise ImportError("has no way to a GPU")
    import porespy as package

    return lambda: float(1.0 / package.simulations.tortuosity_fd(image.astype(bool), axis=0).formation_factor)


class EffectivePeer:
    """A program and the medium that it holds ready."""

    def __init__(self, name: str) -> None:
        self.name, self.make = name, {"heatsim": heatsim, "taufactor": taufactor, "porespy": porespy}[name]

    def verify(self, file: str, device: str, threads: int) -> str:
        """Import, compile, and hold the medium of a file ready. What a program finds is judged once it has solved."""
        image = np.load(file)
        self.solve = self.make(image, device, threads)
        # heatsim compiles what the medium needs, which is more than what a corner without pores does.
        first = self.solve if self.name == "heatsim" else self.make(image[:96, :96, :96] | 1, device, threads)
        first()
        return ""

    def run(self, repetitions: int) -> float:
        """Seconds of the whole call on an array in memory."""
        begun = time.perf_counter()
        self.value = self.solve()
        return time.perf_counter() - begun

    def found(self) -> dict[str, float]:
        """The conductivity."""
        return {"conductivity": self.value}


make_peer = EffectivePeer
