"""Heat windows and look between steps on the CUDA simulator: `NUMBA_ENABLE_CUDASIM=1 python ... RESULT.npz`."""

from __future__ import annotations

import sys

import numpy as np
from between_cases import results

if __name__ == "__main__":
    np.savez(sys.argv[1], allow_pickle=False, **dict(results(on_cuda=True)))
