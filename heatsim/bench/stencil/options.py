"""What `heatsim bench stencil` was asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from heatsim.bench.request import MAX_GPU_CELLS, CommonRequest, check_time, command_line
from heatsim.bench.stencil import kernels_under_test
from heatsim.bench.stencil.problems import ShapeZYX
from heatsim.errors import RequestError

DEFAULT_SIZE = {"cpu": "256", "cuda": "512"}
DEFAULT_MATERIALS = (1, 3)
MAX_MATERIALS, MAX_LAYERS = 255, 1000


@dataclass(frozen=True)
class StencilOptions:
    """A request that has been checked: a device that is there, kernels that it has, sizes that make sense.

    layers: that several materials lie in, 0 for cubes; seconds: of one measurement; tune: time all tiles first;
    compile: time compiling too; counters: have ncu count.
    """

    common: CommonRequest
    sizes: tuple[ShapeZYX, ...]
    kernels: tuple[str, ...]
    materials: tuple[int, ...]
    layers: int
    seconds: float
    tune: bool
    compile: bool
    counters: bool

    def command(self) -> str:
        """The command that measures this again, with every default written out."""
        common = self.common
        every = self.kernels == tuple(kernels_under_test.kernel_names(common.device))
        chosen: dict[str, object] = {
            "--size": [in_words(shape) for shape in self.sizes],
            "--precision": common.precision_option,
            "--kernel": () if every else self.kernels,
            "--materials": self.materials,
            "--layers": self.layers or None,
            "--seconds": self.seconds,
            "--tune": self.tune,
            "--compile": self.compile,
            "--counters": self.counters,
            "--json": common.json,
            "--write": common.write,
            "--figure": common.figure,
        }
        return command_line("stencil", common.device, chosen)


def check_options(asked: dict[str, Any]) -> StencilOptions:
    """Check a request and fill in its defaults. Raises `RequestError`, and `NoGpuError` where one is demanded."""
    common = CommonRequest.of(asked)
    device = common.device
    kernels = _check_kernels(asked["kernels"], device)
    for count in asked["materials"]:
        if not 1 <= count <= MAX_MATERIALS:
            raise RequestError(f"--materials {count}: between 1 and {MAX_MATERIALS} are possible")
    if not 0 <= asked["layers"] <= MAX_LAYERS:
        raise RequestError(f"--layers {asked['layers']}: between 1 and {MAX_LAYERS} are possible")
    if asked["tune"] and device == "cpu":
        raise RequestError("--tune: only the CUDA kernels have tiles to choose from")
    return StencilOptions(
        common,
        sizes=tuple(dict.fromkeys(parse_size(text, device) for text in asked["sizes"] or (DEFAULT_SIZE[device],))),
        kernels=kernels,
        materials=tuple(dict.fromkeys(asked["materials"])) or DEFAULT_MATERIALS,
        layers=asked["layers"],
        seconds=check_time("--seconds", asked["seconds"]),
        tune=asked["tune"],
        compile=asked["compile_times"],
        counters=asked["counters"],
    )


def _check_kernels(asked: tuple[str, ...], device: str) -> tuple[str, ...]:
    """The kernels asked for, or all of the device. Raises `RequestError` for one that it does not have."""
    known = tuple(kernels_under_test.kernel_names(device))
    for name in asked:
        if name not in known:
            elsewhere = f'; "{name}" runs on another device' if name in kernels_under_test.all_kernel_names() else ""
            raise RequestError(
                f'--kernel {name}: not a kernel of device "{device}", which has {", ".join(known)}{elsewhere}'
            )
    return tuple(dict.fromkeys(asked)) or known


def parse_size(text: str, device: str) -> ShapeZYX:
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
    if device == "cuda" and nx * ny * nz > MAX_GPU_CELLS:
        raise RequestError(f"--size {text}: CUDA kernels count cells in 32 bits, so {MAX_GPU_CELLS} at most")
    return nz, ny, nx


def in_words(shape: ShapeZYX) -> str:
    """The size as the command line takes it."""
    nz, ny, nx = shape
    return str(nx) if nx == ny == nz else f"{nx},{ny},{nz}"


def materials_in_words(count: int, layers: int) -> str:
    """ "1 material", "3 materials", "3 materials in 10 layers"."""
    return f"{count} material" + "s" * (count > 1) + (f" in {layers} layers" if layers else "")
