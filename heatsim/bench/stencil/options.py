"""What `heatsim bench stencil` was asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from heatsim.bench import machine, request
from heatsim.bench.request import RequestError
from heatsim.bench.stencil import kernels_under_test

Shape = tuple[int, int, int]  # nz, ny, nx

DEFAULT_SIZE = {"cpu": "256", "cuda": "512"}
DEFAULT_MATERIALS = (1, 3)
MAX_MATERIALS = 255
MAX_CELLS = 2**32 - 1  # in a CUDA kernel


@dataclass(frozen=True)
class StencilOptions:
    """A request that has been checked: a device that is there, kernels that it has, sizes that make sense."""

    device: str
    sizes: tuple[Shape, ...]
    precisions: tuple[str, ...]
    kernels: tuple[str, ...]
    materials: tuple[int, ...]
    seconds: float
    tune: bool = False
    compile: bool = False
    counters: bool = False
    json: Path | None = None
    write: Path | None = None
    figure: Path | None = None

    def command(self) -> str:
        """The command that measures this again, with every default written out."""
        every = self.kernels == tuple(kernels_under_test.kernel_names(self.device))
        chosen = {
            "--size": [in_words(shape) for shape in self.sizes],
            "--precision": request.precision_option(self.precisions),
            "--kernel": () if every else self.kernels,
            "--materials": self.materials,
            "--seconds": self.seconds,
            "--tune": self.tune,
            "--compile": self.compile,
            "--counters": self.counters,
            "--json": self.json,
            "--write": self.write,
            "--figure": self.figure,
        }
        return request.command_line("stencil", self.device, chosen)


def options(
    device: str = "auto",
    sizes: Sequence[str] = (),
    precision: str = "float32",
    kernels: Sequence[str] = (),
    materials: Sequence[int] = (),
    seconds: float = 0.2,
    tune: bool = False,
    compile_times: bool = False,
    counters: bool = False,
    json: Path | None = None,
    write: Path | None = None,
    figure: Path | None = None,
) -> StencilOptions:
    """Check a request and fill in its defaults. Raises `RequestError`, and `NoGpuError` where one is demanded."""
    picked = machine.pick_device(device)
    known = tuple(kernels_under_test.kernel_names(picked))
    for name in kernels:
        if name not in known:
            elsewhere = f'; "{name}" runs on another device' if name in kernels_under_test.all_kernel_names() else ""
            raise RequestError(
                f'--kernel {name}: not a kernel of device "{picked}", which has {", ".join(known)}{elsewhere}'
            )
    for count in materials:
        if not 1 <= count <= MAX_MATERIALS:
            raise RequestError(f"--materials {count}: between 1 and {MAX_MATERIALS} are possible")
    request.check_seconds(seconds)
    if tune and picked == "cpu":
        raise RequestError("--tune: only the CUDA kernels have tiles to choose from")
    request.check_folders((json, write, figure))
    return StencilOptions(
        picked,
        tuple(dict.fromkeys(parse_size(text, picked) for text in sizes or (DEFAULT_SIZE[picked],))),
        request.parse_precisions(precision),
        tuple(dict.fromkeys(kernels)) or known,
        tuple(dict.fromkeys(materials)) or DEFAULT_MATERIALS,
        seconds,
        tune,
        compile_times,
        counters,
        json,
        write,
        figure,
    )


def parse_size(text: str, device: str) -> Shape:
    """(nz, ny, nx) of "n" or "nx,ny,nz"."""
    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) not in (1, 3):
        raise RequestError(f"--size {text}: expected cells an axis, such as 256 or 512,512,64 (nx,ny,nz)")
    if min(numbers) <= 0:
        raise RequestError(f"--size {text}: every axis needs at least one cell")
    nx, ny, nz = numbers * (3 // len(numbers))
    if device == "cuda" and nx * ny * nz > MAX_CELLS:
        raise RequestError(f"--size {text}: CUDA kernels count cells in 32 bits, so {MAX_CELLS} at most")
    return nz, ny, nx


def in_words(shape: Shape) -> str:
    """The size as the command line takes it."""
    nz, ny, nx = shape
    return str(nx) if nx == ny == nz else f"{nx},{ny},{nz}"


def materials_in_words(count: int) -> str:
    """ "1 material", "3 materials"."""
    return f"{count} material" + "s" * (count > 1)
