"""Checkpoints and kept kernels in which bytes are wrong or missing are all found.

`python -m faults.corruption` (from tests/) prints the counts; `make faults` calls it.
"""

from __future__ import annotations

import argparse
import logging
import random
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from heatsim_kernels.device.kernel_cache import SignatureFiles

import heatsim
from faults.cases import CASES, write_case
from faults.kills import report
from heatsim.simulation.run import run_scenario
from heatsim.store.checkpoints import DamagedCheckpoint, read_checkpoint


def damaged(whole: bytes, bytes_changed: int, truncations: int, seed: int = 1) -> Iterator[bytes]:
    """A file with single bytes changed, each of the first 600 among them, and cut short."""
    chance = random.Random(seed)
    for number in range(bytes_changed):
        place = chance.randrange(len(whole)) if number >= min(600, len(whole)) else number
        yield whole[:place] + bytes([whole[place] ^ chance.randrange(1, 256)]) + whole[place + 1 :]
    for _ in range(truncations):
        yield whole[: chance.randrange(len(whole))]


def corruptions(path: Path, bytes_changed: int, truncations: int) -> Counter[str]:
    """Damage a checkpoint so many times; what is counted."""
    read_checkpoint(path)
    counts = Counter({"bytes changed": bytes_changed, "truncations": truncations, "overlooked": 0})
    target = path.with_name("damaged.h5")
    for content in damaged(path.read_bytes(), bytes_changed, truncations):
        target.write_bytes(content)
        try:
            read_checkpoint(target)
            counts["overlooked"] += 1
        except DamagedCheckpoint:
            pass
    return counts


def kernel_corruptions(folder: Path, bytes_changed: int, truncations: int) -> Counter[str]:
    """Damage a kept kernel of the CPU, and one of CUDA if its compiler is here, so many times; what is counted."""
    counts = Counter({"bytes changed": 0, "truncations": 0, "used": 0})
    code = random.Random(1).randbytes(30_000)
    for path, kept, read in (_cpu_kernel(folder, code), *_cuda_kernel(folder, code)):
        assert read() == kept
        for content in damaged(path.read_bytes(), bytes_changed, truncations):
            path.write_bytes(content)
            counts["used"] += read() not in (None, kept)  # what differs in a blank of its head is the same kernel
        counts.update({"bytes changed": bytes_changed, "truncations": truncations})
    return counts


Kept = tuple[Path, Any, Callable[[], Any]]  # the file of a kernel, the kernel, and what reads it


def _cpu_kernel(folder: Path, code: bytes) -> Kept:
    files = SignatureFiles(str(folder), "kernel", "stamp")
    files.save("signature", ("code", code))
    return next(folder.glob("kernel*")), ("code", code), lambda: files.load("signature")


def _cuda_kernel(folder: Path, code: bytes) -> list[Kept]:
    try:
        from heatsim_kernels.device.cuda import compilation
    except ImportError:
        return []
    path, kept = folder / "kernel.cubin", compilation.Binary("name", code, "report")
    compilation._write(path, kept)
    return [(path, kept, lambda: compilation._read(path))]


if __name__ == "__main__":
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--bytes", type=int, default=10_000)
    arguments.add_argument("--truncations", type=int, default=500)
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        case = write_case(Path(folder), CASES["euler"])
        run_scenario(heatsim.load(case), Path(folder) / "run")
        found = corruptions(Path(folder) / "run" / "checkpoint.h5", given.bytes, given.truncations)
        report("one-byte corruptions and truncations of a checkpoint", found)
        logging.disable()
        (kernels := Path(folder) / "kernels").mkdir()
        found = kernel_corruptions(kernels, given.bytes, given.truncations)
        report("one-byte corruptions and truncations of kept kernels", found)
