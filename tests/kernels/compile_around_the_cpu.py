"""Compile the same CUDA code before and after the CPU has compiled a multiply-add: `python compile_around_the_cpu.py`.

A process of its own, because what else was compiled in a process is what matters. Prints 1 where both are the same.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from heatsim_kernels.device.cuda.api import cuda
from heatsim_kernels.device.fma import fma
from heatsim_kernels.explicit.enthalpy.cuda.cell import functions
from numba import njit, types
from test_nonlinear_cuda_compiles import arguments

between: Any = functions.between


@njit
def multiply_add(a, b, c):  # type: ignore[no-untyped-def]
    return fma(a, b, c)


def exchange(out, u, medium):  # type: ignore[no-untyped-def]
    rate, difference = between(u[0], u[1], 0, 1, u[2], medium)
    out[0], out[1] = rate, difference


def operations() -> list[str]:
    given = arguments("float32")
    signature = types.void(given["u"], given["u"], given["medium"])
    ptx = str(cuda.compile_ptx(exchange, signature, cc=(9, 0))[0])
    return re.findall(r"^\s+((?:fma|mul|add|sub|div)\.\S+.*)", ptx, re.MULTILINE)


if __name__ == "__main__":
    before = operations()
    multiply_add(*np.ones(3, np.float32))
    print(int(len(before) > 20 and before == operations()))
