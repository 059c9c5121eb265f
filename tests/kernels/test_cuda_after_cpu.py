"""A CUDA kernel is the same whatever the CPU compiled before it in the same process."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from numba import config

ROOT = Path(__file__).parents[2]
pytestmark = [
    pytest.mark.skipif(find_spec("numba_cuda") is None, reason="numba-cuda is not installed"),
    pytest.mark.skipif(bool(config.ENABLE_CUDASIM), reason="the CUDA simulator compiles nothing"),
]


def test_a_cuda_kernel_keeps_its_operands_after_the_cpu_has_compiled_a_multiply_add() -> None:
    script = Path(__file__).with_name("compile_around_the_cpu.py")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (ROOT / "kernels", ROOT / "tests")))}
    command = [sys.executable, str(script)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=1800, check=False)
    assert done.stdout.strip() == "1", done.stderr
