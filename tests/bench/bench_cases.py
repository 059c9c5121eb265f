"""What the tests of the benchmarks share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from click.testing import Result

Invoke = Callable[..., Result]

# A grid so small that its rates mean nothing, and its compiled kernels are those of other tests.
TINY = ("--device", "cpu", "--size", "20,9,7", "--materials", "1", "--seconds", "0.001")


class Measured(NamedTuple):
    """A benchmark that was run: what it printed, and what it wrote."""

    result: Result
    document: dict[str, Any]
    page: Path
    figure: Path
