"""Run small convolutions on the CUDA simulator: `NUMBA_ENABLE_CUDASIM=1 python simulate_convolutions.py RESULT.npz`.

A process of its own, because the simulator is chosen once, when Numba is imported. It compiles nothing.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from convolution_cases import small_cases


def main(target: str) -> None:
    results: dict[str, Any] = {name: case.run(kernel, "cuda") for name, kernel, case in small_cases()}
    np.savez(target, **results)


if __name__ == "__main__":
    main(sys.argv[1])
