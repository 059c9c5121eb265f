"""What the tests of the benchmarks share."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from click.testing import CliRunner, Result

from heatsim.cli.main import main

Invoke = Callable[..., Result]

# A grid so small that its rates mean nothing, and its compiled kernels are those of other tests.
TINY = ("--device", "cpu", "--size", "20,9,7", "--materials", "1", "--seconds", "0.001")


class Measured(NamedTuple):
    """A benchmark that was run: what it printed, and what it wrote."""

    result: Result
    document: dict[str, Any]
    figure: Path


def call(*arguments: object, command: str = "stencil") -> Result:
    """Run a benchmark's command in this process; a traceback fails the test."""
    result = CliRunner().invoke(main, ["bench", command, *map(str, arguments)], prog_name="heatsim")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        pytest.fail("a traceback:\n" + "".join(traceback.format_exception(result.exception)))
    return result
