"""What `heatsim bench convolution` was asked for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heatsim.bench.convolution import kernels_under_test
from heatsim.bench.convolution.problems import FAMILIES
from heatsim.bench.request import MAX_GPU_CELLS, CommonRequest, check_time, command_line
from heatsim.errors import RequestError

RowsColumns = tuple[int, int]  # rows, columns

DEFAULT_SIZE = {"cpu": "4096", "cuda": "8192"}
DEFAULT_MASKS = ("3", "5", "7", "9")
MAX_MASK_WIDTH = 31


@dataclass(frozen=True)
class ConvolutionOptions:
    """A request that has been checked: a device that is there, kernels that it has, sizes that make sense.

    seconds: of one measurement; peers: time other programs too; peers_python: the Python that has them.
    """

    common: CommonRequest
    sizes: tuple[RowsColumns, ...]
    families: tuple[str, ...]
    kernels: tuple[str, ...]
    masks: tuple[RowsColumns, ...]
    seconds: float
    peers: bool
    peers_python: Path | None

    def command(self) -> str:
        """The command that measures this again, with every default written out."""
        common = self.common
        every = self.kernels == kernels_of(common.device, self.families)
        chosen = {
            "--size": [in_words(size, ",") for size in self.sizes],
            "--precision": common.precision_option,
            "--problem": () if self.families == FAMILIES else self.families,
            "--kernel": () if every else self.kernels,
            "--mask": [in_words(mask, "x") for mask in self.masks],
            "--seconds": self.seconds,
            "--no-peers": not self.peers,
            "--peers-python": self.peers_python,
            "--json": common.json,
            "--write": common.write,
        }
        return command_line("convolution", common.device, chosen)


def check_options(asked: dict[str, Any]) -> ConvolutionOptions:
    """Check a request and fill in its defaults. Raises `RequestError`, and `NoGpuError` where one is demanded."""
    common, python = CommonRequest.of(asked), asked["peers_python"]
    device = common.device
    families = tuple(name for name in FAMILIES if name in asked["problems"]) or FAMILIES
    known = kernels_of(device, families)
    for name in asked["kernels"]:
        if name not in known:
            there = ", ".join(known)
            raise RequestError(
                f'--kernel {name}: not a kernel of device "{device}" for these problems; there are {there}'
            )
    if python is not None and not python.is_file():
        raise RequestError(f"--peers-python {python}: there is no such file")
    return ConvolutionOptions(
        common,
        sizes=tuple(dict.fromkeys(parse_size(text, device) for text in asked["sizes"] or (DEFAULT_SIZE[device],))),
        families=families,
        kernels=tuple(dict.fromkeys(asked["kernels"])) or known,
        masks=tuple(dict.fromkeys(map(parse_mask, asked["masks"] or DEFAULT_MASKS))),
        seconds=check_time("--seconds", asked["seconds"]),
        peers=asked["peers"],
        peers_python=python,
    )


def kernels_of(device: str, families: Sequence[str]) -> tuple[str, ...]:
    """The kernels of a device for any of the families, in reading order."""
    return tuple(dict.fromkeys(name for family in families for name in kernels_under_test.kernel_names(device, family)))


def parse_size(text: str, device: str) -> RowsColumns:
    """(rows, columns) of "n" or "nx,ny"."""
    found = re.fullmatch(r"(\d+)(?:,(\d+))?", text)
    if found is None:
        raise RequestError(f"--size {text}: expected cells an axis, such as 4096 or 8192,4096 (nx,ny)")
    columns = int(found[1])
    rows = int(found[2] or columns)
    if min(rows, columns) < 2:
        raise RequestError(f"--size {text}: every axis needs two cells at least")
    if device == "cuda" and rows * columns > MAX_GPU_CELLS:
        raise RequestError(f"--size {text}: CUDA kernels count cells in 32 bits, so {MAX_GPU_CELLS} at most")
    return rows, columns


def parse_mask(text: str) -> RowsColumns:
    """(rows, columns) of "m" or "columns x rows", as in 5 or 7x3."""
    found = re.fullmatch(r"(\d+)(?:x(\d+))?", text)
    if found is None:
        raise RequestError(f"--mask {text}: expected a width, such as 5, or columns and rows, such as 7x3")
    columns = int(found[1])
    rows = int(found[2] or columns)
    for width in (rows, columns):
        if width % 2 == 0 or width > MAX_MASK_WIDTH:
            raise RequestError(f"--mask {text}: masks are odd, to have a middle, and at most {MAX_MASK_WIDTH} wide")
    return rows, columns


def in_words(pair: RowsColumns, between: str) -> str:
    """A size or a mask as the command line takes it."""
    rows, columns = pair
    return str(columns) if rows == columns else f"{columns}{between}{rows}"
