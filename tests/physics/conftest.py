"""Physics is tested on the CPU. Other kernels give its bits: see tests/kernels and test_pairs_of_features.py."""

from __future__ import annotations

import pytest
from helpers import in_memory


@pytest.fixture
def run() -> in_memory.Run:
    """Run a scenario text to its end in memory, on the CPU."""
    return in_memory.run
