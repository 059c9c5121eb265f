"""The effective conductivity of porous media against TauFactor and PoreSpy: verified, then timed.

    python3 -m venv peers-venv && peers-venv/bin/pip install taufactor porespy openpnm pyamg
    python benchmarks/compare_effective.py --peers-python peers-venv/bin/python --n 256

Media are periodic: overlapping balls, and a random field that is cut at a level (`blobs`); or `--image FILE`. One phase
conducts, the gradient is along z between two faces, the sides let nothing pass. Each peer has a process of its own;
times are of the whole call on an array in memory, without imports and compilation, the best round; no ratio is printed
of rounds that are shorter than a second or spread by more than a third. heatsim goes on
until its bounds are within 1e-4 of each other, TauFactor until its criterion of 1e-3, PoreSpy as it does by default. A
conductivity that is further from heatsim's than `--agree` is reported as FAILED. PoreSpy holds the outer voxels at the
temperatures, not the faces, and so has a medium that is a voxel shorter.

PuMA is not on the Python package index (`pumapy` there is another program), so it is not compared.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

PEERS = ("heatsim", "taufactor", "porespy")
KINDS = ("balls", "blobs")
PEERS_PYTHON = "peers-venv/bin/python" if Path("peers-venv/bin/python").exists() else sys.executable
SECONDS = 60.0  # a peer that has taken longer starts no further round


def medium(kind: str, n: int, void: float) -> np.ndarray:
    """(n, n, n) uint8, 1 where it conducts."""
    rng = np.random.default_rng(0)
    if kind == "blobs":
        waves = [np.fft.fftfreq(n, 1.0 / n)] * 2 + [np.fft.rfftfreq(n, 1.0 / n)]
        squared = waves[0][:, None, None] ** 2 + waves[1][:, None] ** 2 + waves[2] ** 2
        noise = np.fft.rfftn(rng.standard_normal((n, n, n))) * np.exp(-squared / (2.0 * 6.0**2))
        field = np.fft.irfftn(noise, s=(n, n, n), axes=(0, 1, 2))
        return (field > np.quantile(field, void)).astype(np.uint8)
    solid, places = np.zeros((n, n, n), np.uint8), (np.arange(n) + 0.5) / n
    while 1.0 - solid.mean() > void:
        off = [((places - at + 0.5) % 1.0 - 0.5) ** 2 for at in rng.uniform(size=3)]
        near = [np.flatnonzero(each < 1.0 / 144.0) for each in off]
        inside = off[0][near[0]][:, None, None] + off[1][near[1]][:, None] + off[2][near[2]] < 1.0 / 144.0
        solid[np.ix_(*near)] |= inside
    return solid


def given_image(path: str) -> np.ndarray:
    """The image of a file, uint8, 1 where its labels are not 0."""
    from heatsim.store.inputs import read_volume

    return np.asarray(read_volume(Path(path)) != 0).astype(np.uint8)


def heatsim(image: np.ndarray, device: str) -> Callable[[], float]:
    """With bounds within 1e-4."""
    import heatsim

    return lambda: float(heatsim.effective(image, {0: 0.0, 1: 1.0}, "z", device=device).conductivity[2, 2])


def taufactor(image: np.ndarray, device: str) -> Callable[[], float]:
    """With its criterion of convergence at 1e-3."""
    import taufactor as package
    import torch

    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))

    def solve() -> float:
        solver = package.Solver(image, device=device)
        solver.solve(verbose=False, conv_crit=1e-3, iter_limit=100_000)
        return float(np.asarray(solver.D_eff).reshape(-1)[0])

    return solve


def porespy(image: np.ndarray, device: str) -> Callable[[], float]:
    """By OpenPNM's algebraic multigrid of PyAMG, on CPUs alone."""
    import porespy as package

    if device != "cpu":
        raise ImportError("has no way to a GPU")

    def solve() -> float:
        found = package.simulations.tortuosity_fd(image.astype(bool), axis=0)
        return float(1.0 / found.formation_factor)

    return solve


def measure(peer: str, kind: str, given: argparse.Namespace) -> dict[str, Any]:
    """One peer, in this process: what it found, and the seconds of its best round."""
    image = np.load(given.image) if given.image else medium(kind, given.n, given.void)
    make = {"heatsim": heatsim, "taufactor": taufactor, "porespy": porespy}[peer]
    try:
        make(np.ascontiguousarray(image[:96, :96, :96]) | 1, given.device)()  # imports and compiles
        solve = make(image, given.device)
    except ImportError as error:
        return {"skipped": str(error)}
    seconds, begun = [], time.perf_counter()
    while len(seconds) < given.rounds and (not seconds or time.perf_counter() - begun < SECONDS):
        start = time.perf_counter()
        value = solve()
        seconds.append(time.perf_counter() - start)
    return {"conductivity": value, "seconds": min(seconds), "rounds": seconds}


def main() -> None:
    """Print a table, a row for each medium and peer."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peers-python", default=PEERS_PYTHON, help="the Python that has the peers")
    parser.add_argument("--n", type=int, default=128, help="voxels along an edge")
    parser.add_argument("--image", help="a file in place of the media: what is not 0 conducts")
    parser.add_argument("--void", type=float, default=0.5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--agree", type=float, default=1e-2, help="relative")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--peers", default=",".join(PEERS))
    parser.add_argument("--json", help="file for the numbers")
    parser.add_argument("--worker", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        peer, kind = given.worker
        print(json.dumps(measure(peer, kind, given)))
        return
    from heatsim.bench.rounds import doubt  # which the Python of the peers has not

    found, failed = [], False
    if given.image:
        np.save(scratch := Path(tempfile.mkdtemp()) / "image.npy", given_image(given.image))  # peers read no images
        given.image, given.kinds = str(scratch), Path(given.image).stem
    threads = {name: str(given.threads) for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")}
    print("| medium | peer | conductivity | seconds | of heatsim's time |\n|---|---|---|---|---|")
    for kind in given.kinds.split(","):
        reference: dict[str, Any] = {}
        for peer in given.peers.split(","):
            python = sys.executable if peer == "heatsim" else given.peers_python
            words = ["--n", given.n, "--void", given.void, "--rounds", given.rounds]
            words += ["--image", given.image] if given.image else []
            words += ["--device", given.device, "--worker", peer, kind]
            environment = {**os.environ, **threads, "NUMBA_NUM_THREADS": str(given.threads)}
            done = subprocess.run(
                [python, __file__, *map(str, words)], env=environment, capture_output=True, text=True, check=False
            )
            if done.returncode:
                print(f"| {kind} | {peer} | FAILED: {done.stderr.strip().splitlines()[-1]} | | |")
                continue
            result = json.loads(done.stdout.strip().splitlines()[-1])
            found.append({"medium": kind, "n": given.n, "void": given.void, "peer": peer, **result})
            if "skipped" in result:
                print(f"| {kind} | {peer} | skipped: {result['skipped']} | | |")
                continue
            reference = reference or result
            off = abs(result["conductivity"] - reference["conductivity"]) / (reference["conductivity"] or 1.0)
            failed = failed or off > given.agree
            told = f"{result['conductivity']:.6g}" + (f", FAILED: off by {off:.1e}" if off > given.agree else "")
            why = doubt(result["rounds"]) or doubt(reference["rounds"])
            times = f"no ratio: {why}" if why else f"{result['seconds'] / reference['seconds']:.3g}"
            print(f"| {kind} | {peer} | {told} | {result['seconds']:.3g} | {times} |", flush=True)
    if given.json:
        Path(given.json).write_text(json.dumps(found, indent=1), encoding="utf-8")
    sys.exit(failed)


if __name__ == "__main__":
    main()
