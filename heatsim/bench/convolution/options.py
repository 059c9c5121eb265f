"""What `heatsim bench convolution` was asked for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from heatsim.bench import machine, request
from heatsim.bench.convolution import kernels_under_test
from heatsim.bench.convolution.problems import FAMILIES
from heatsim.bench.request import RequestError

RowsColumns = tuple[int, int]  # rows, columns

DEFAULT_SIZE = {"cpu": "4096", "cuda": "8192"}
DEFAULT_MASKS = ("3", "5", "7", "9")
MAX_MASK_WIDTH = 31
MAX_ELEMENTS = 2**32 - 1  # in a CUDA kernel


@dataclass(frozen=True)
class ConvolutionOptions:
    """A request that has been checked: a device that is there, kernels that it has, sizes that make sense."""

    device: str
    sizes: tuple[RowsColumns, ...]
    precisions: tuple[str, ...]
    families: tuple[str, ...]
    kernels: tuple[str, ...]
    masks: tuple[RowsColumns, ...]
    seconds: float
    peers: bool = True
    peers_python: Path | None = None
    json: Path | None = None
    write: Path | None = None

    def command(self) -> str:
        """The command that measures this again, with every default written out."""
        every = self.kernels == kernels_of(self.device, self.families)
        chosen = {
            "--size": [in_words(size, ",") for size in self.sizes],
            "--precision": request.precision_option(self.precisions),
            "--problem": () if self.families == FAMILIES else self.families,
            "--kernel": () if every else self.kernels,
            "--mask": [in_words(mask, "x") for mask in self.masks],
            "--seconds": self.seconds,
            "--no-peers": not self.peers,
            "--peers-python": self.peers_python,
            "--json": self.json,
            "--write": self.write,
        }
        return request.command_line("convolution", self.device, chosen)


def options(
    device: str = "auto",
    sizes: Sequence[str] = (),
    precision: str = "float32",
    problems: Sequence[str] = (),
    kernels: Sequence[str] = (),
    masks: Sequence[str] = (),
    seconds: float = 0.05,
    peers: bool = True,
    peers_python: Path | None = None,
    json: Path | None = None,
    write: Path | None = None,
) -> ConvolutionOptions:
    """Check a request and fill in its defaults. Raises `RequestError`, and `NoGpuError` where one is demanded."""
    picked = machine.pick_device(device)
    families = tuple(name for name in FAMILIES if name in problems) or FAMILIES
    known = kernels_of(picked, families)
    for name in kernels:
        if name not in known:
            there = ", ".join(known)
            raise RequestError(
                f'--kernel {name}: not a kernel of device "{picked}" for these problems; there are {there}'
            )
    request.check_seconds(seconds)
    request.check_folders((json, write))
    if peers_python is not None and not peers_python.is_file():
        raise RequestError(f"--peers-python {peers_python}: there is no such file")
    return ConvolutionOptions(
        picked,
        tuple(dict.fromkeys(parse_size(text, picked) for text in sizes or (DEFAULT_SIZE[picked],))),
        request.parse_precisions(precision),
        families,
        tuple(dict.fromkeys(kernels)) or known,
        tuple(dict.fromkeys(map(parse_mask, masks or DEFAULT_MASKS))),
        seconds,
        peers,
        peers_python,
        json,
        write,
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
    if device == "cuda" and rows * columns > MAX_ELEMENTS:
        raise RequestError(f"--size {text}: CUDA kernels count cells in 32 bits, so {MAX_ELEMENTS} at most")
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
