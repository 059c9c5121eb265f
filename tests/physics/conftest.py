"""Physics is tested on the CPU. Other kernels give its bits: see tests/kernels and test_pairs_of_features.py."""

from __future__ import annotations

import physics_cases
import pytest


@pytest.fixture
def run() -> physics_cases.Run:
    """Run a scenario text to its end in memory, on the CPU."""
    return physics_cases.run
