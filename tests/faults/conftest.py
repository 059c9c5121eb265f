from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from helpers.commands import Heatsim, start


@pytest.fixture
def heatsim(tmp_path: Path) -> Heatsim:
    """Run heatsim in a process of its own, in `tmp_path`, to its end."""

    def call(*arguments: object, timeout: float = 600.0) -> subprocess.CompletedProcess[str]:
        process = start(*arguments, cwd=tmp_path)
        try:
            out, err = process.communicate(timeout=timeout)
        finally:
            process.kill()
        return subprocess.CompletedProcess(arguments, process.returncode, out, err)

    return call
