"""A hand-written C loop with OpenMP, `sweep.c`, compiled when it is needed."""

import ctypes
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from .problem import NUMBER, SLOPE, Sweeps, bind_openmp

NAME, DISTRIBUTION, BOUNDARY = "C OpenMP", None, "ghost"
FLAGS = ["-std=c11", "-O3", "-march=native", "-fopenmp"]
SETTINGS = f"{' '.join(FLAGS)}; all steps in one parallel region, omp simd inner loop"


def available() -> str | None:
    compiler = _compiler()
    return None if shutil.which(compiler) else f"no C compiler: {compiler} not found"


def prepare(initial: np.ndarray) -> Sweeps:
    real, name = {
        "float32": (ctypes.c_float, "float"),
        "float64": (ctypes.c_double, "double"),
    }[initial.dtype.name]
    bind_openmp()
    library = _compile(name)
    pointer = ctypes.POINTER(real)
    library.advance.argtypes = [pointer, pointer, ctypes.c_long, real, ctypes.c_long]
    library.advance.restype = None
    fields = [np.pad(initial, 1), np.pad(np.zeros_like(initial), 1)]

    def advance(steps: int) -> None:
        even, odd = (field.ctypes.data_as(pointer) for field in fields)
        library.advance(even, odd, len(initial), NUMBER, steps)
        if steps % 2:
            fields.reverse()

    return Sweeps(advance, lambda: fields[0][1:-1, 1:-1, 1:-1])


def _compiler() -> str:
    return os.environ.get("CC", "gcc")


def _compile(real: str) -> ctypes.CDLL:
    library = Path(tempfile.mkdtemp()) / "sweep.so"
    source = Path(__file__).with_name("sweep.c")
    defined = [f"-DREAL={real}", *([f"-DHALF_SLOPE={0.5 * SLOPE}"] if SLOPE else [])]
    subprocess.run([_compiler(), *FLAGS, *defined, "-shared", "-fPIC", source, "-o", library], check=True)
    return ctypes.CDLL(str(library))
