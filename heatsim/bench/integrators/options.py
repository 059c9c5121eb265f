"""What `heatsim bench integrators` was asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from heatsim.bench import machine, request
from heatsim.bench.integrators.problems import PROBLEMS
from heatsim.bench.request import RequestError
from heatsim.integrators import INTEGRATORS

NAMES = tuple(name for name, each in INTEGRATORS.items() if not each.to_limit)
DEFAULT_SIZE = {"cpu": 64, "cuda": 256}
MIN_SIZE = 32  # the layers of the stack are a 32nd of it


@dataclass(frozen=True)
class IntegratorOptions:
    """A request with its defaults filled in. size: cells an axis; limit: seconds that a run may take."""

    device: str
    size: int
    precisions: tuple[str, ...]
    problems: tuple[str, ...]
    integrators: tuple[str, ...]
    limit: float
    json: Path | None
    write: Path | None
    figure: Path | None

    def command(self) -> str:
        """The command that does the same on this machine."""
        chosen = {
            "--size": self.size,
            "--precision": request.precision_option(self.precisions),
            "--problem": () if len(self.problems) == len(PROBLEMS) else self.problems,
            "--integrator": () if len(self.integrators) == len(NAMES) else self.integrators,
            "--limit": self.limit,
            "--figure": self.figure,
        }
        return request.command_line("integrators", self.device, chosen)


def options(
    device: str = "auto",
    size: int | None = None,
    precision: str = "float32",
    problems: Sequence[str] = (),
    integrators: Sequence[str] = (),
    limit: float = 60.0,
    json: Path | None = None,
    write: Path | None = None,
    figure: Path | None = None,
) -> IntegratorOptions:
    """Check a request and fill in its defaults. Raises `RequestError`, and `NoGpuError` where one is demanded."""
    picked = machine.pick_device(device)
    cells = size or DEFAULT_SIZE[picked]
    if cells < MIN_SIZE or cells % MIN_SIZE:
        raise RequestError(f"--size {cells}: expected a multiple of {MIN_SIZE} cells")
    if not 0 < limit < float("inf"):
        raise RequestError(f"--limit {limit:g}: a time above 0 is needed")
    request.check_folders((json, write, figure))
    return IntegratorOptions(
        picked,
        cells,
        request.parse_precisions(precision),
        tuple(name for name in PROBLEMS if name in problems) or tuple(PROBLEMS),
        tuple(name for name in NAMES if name in integrators) or NAMES,
        limit,
        json,
        write,
        figure,
    )
