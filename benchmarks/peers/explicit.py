"""Explicit steps of heat conduction by heatsim and seven other programs, each in a process of its own.

u_t = alpha lap u in the unit cube, n^3 cells of width h = 1/n, explicit Euler. With a time step of 1 s and
alpha = NUMBER h^2 the mesh Fourier number alpha dt / h^2 is NUMBER for every n, and m steps end at t = m. Where the
conductivity depends on the temperature, alpha (1 + SLOPE u), cells exchange differences of its integral, the potential
u + SLOPE u^2/2, which are those of u times the mean of alpha at the two cells. NUMBER is smaller then, since alpha is
larger.

The boundary is zero temperature in one of two forms, whichever is a peer's natural one: "ghost", the value in the layer
outside the cells is 0; or "face", the value on the face is 0, so the layer outside holds minus the cell next to it.

A peer makes `Steps` of an initial field, and imports its library only there. What else a Python needs is NumPy.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

SLOPE = 0.5 if os.environ.get("PEERS_PROBLEM") == "conductivity" else 0.0  # of the conductivity over temperature
NUMBER = 0.06 if SLOPE else 0.1  # stable: a corner cell with three "face" walls allows 1/9
TIME_STEP = 1.0  # s
# Odd, so that every vector loop has a remainder, and a multiple of the vector width, so that none has one.
VERIFICATION_SIZES = (37, 64)
VERIFICATION_STEPS = 7
TOLERANCE = 32  # rounding units of a field of order 1; a wrong boundary or coefficient is off by thousands


class Steps(NamedTuple):
    """advance(steps): returns the seconds of its own time loop, or None to be timed from outside. result(): the field
    (n, n, n) after the first `advance`; a later one may go on or start again."""

    advance: Callable[[int], float | None]
    result: Callable[[], np.ndarray]


class Program(NamedTuple):
    """prepare: makes steps of an initial field; needs: modules without which it does not run."""

    prepare: Callable[[np.ndarray], Steps]
    boundary: str
    settings: str
    needs: tuple[str, ...] = ()


def potential(u: Any) -> Any:
    """The integral of the conductivity over temperature, in that at 0; of numbers, arrays or symbols."""
    return u * (1 + 0.5 * SLOPE * u) if SLOPE else u


def initial_field(n: int, dtype: str) -> np.ndarray:
    """Noise in [0, 1), shape (n, n, n): every wave number and no symmetry, so no mistake can hide."""
    return np.random.default_rng(1).random((n, n, n), dtype=np.float32).astype(dtype)


def reference(initial: np.ndarray, steps: int, boundary: str) -> np.ndarray:
    """The field after `steps` steps, computed in float64."""
    field = np.pad(initial.astype(np.float64), 1)
    inner = field[1:-1, 1:-1, 1:-1]
    for _ in range(steps):
        drives = potential(field)
        for axis in range(3 if boundary == "face" else 0):
            layers = np.moveaxis(drives, axis, 0)
            layers[0], layers[-1] = -layers[1], -layers[-2]
        neighbours = sum(np.roll(drives, shift, axis)[1:-1, 1:-1, 1:-1] for axis in range(3) for shift in (-1, 1))
        change = NUMBER * (neighbours - 6 * drives[1:-1, 1:-1, 1:-1])
        inner += change
    return inner.copy()


def ghosted(initial: np.ndarray) -> list[np.ndarray]:
    """The field and the next one, with a layer of zeros around."""
    return [np.pad(initial, 1), np.pad(np.zeros_like(initial), 1)]


def swapping(sweep: Callable[..., object], fields: list[Any]) -> Callable[[int], None]:
    """Steps by a function that computes one field out of another."""

    def advance(steps: int) -> None:
        for _ in range(steps):
            sweep(*fields)
            fields.reverse()

    return advance


SCENARIO = """\
temperature_unit = "degC"
grid = {{ cells = [{n}, {n}, {n}], size = [1.0, 1.0, 1.0] }}
time = {{ end = {end}, step = 1.0, integrator = "euler" }}
compute = {{ device = "cpu", precision = "{precision}" }}
materials.unit = {{ conductivity = {conductivity}, density = 1.0, heat_capacity = 1.0 }}
regions = [{{ material = "unit" }}]
initial = {{ temperature = {{ file = "initial.npy" }} }}
boundary = {{ default = {{ kind = "fixed", temperature = 0.0 }} }}
output = {{ snapshots = {{ at = [{end}] }} }}
"""


def heatsim_(initial: np.ndarray) -> Steps:
    """Through the machinery of `heatsim run`: each time from the initial field into a run folder."""
    import heatsim
    from heatsim.store.snapshots import read_snapshot

    folder, n = Path(tempfile.mkdtemp()), len(initial)
    np.save(folder / "initial.npy", initial)
    at_0 = NUMBER / (n * n * TIME_STEP)
    curve = f"{{ T = [0.0, 1.0], value = [{at_0!r}, {(1.0 + SLOPE) * at_0!r}] }}" if SLOPE else repr(at_0)

    def advance(steps: int) -> float:
        given = {"n": n, "end": steps * TIME_STEP, "precision": initial.dtype.name, "conductivity": curve}
        (folder / "scenario.toml").write_text(SCENARIO.format(**given), encoding="utf-8")
        shutil.rmtree(folder / "run", ignore_errors=True)
        run = heatsim.run(heatsim.load(folder / "scenario.toml"), output=folder / "run")
        if run.info["steps"] != steps:
            raise RuntimeError(f"heatsim took {run.info['steps']} steps, {steps} were asked for")
        return float(run.timings["loop_seconds"])

    def result() -> np.ndarray:
        return read_snapshot(sorted((folder / "run" / "snapshots").glob("*.h5"))[-1]).temperature

    return Steps(advance, result)


FLAGS = ["-std=c11", "-O3", "-march=native", "-fopenmp"]


def c_openmp(initial: np.ndarray) -> Steps:
    """`sweep.c`, compiled when it is needed."""
    compiler = os.environ.get("CC", "gcc")
    if not shutil.which(compiler):
        raise ImportError(f"no C compiler: {compiler} not found")
    real, name = {"float32": (ctypes.c_float, "float"), "float64": (ctypes.c_double, "double")}[initial.dtype.name]
    file = Path(tempfile.mkdtemp()) / "sweep.so"
    defined = [f"-DREAL={name}", *([f"-DHALF_SLOPE={0.5 * SLOPE}"] if SLOPE else [])]
    source = Path(__file__).with_name("sweep.c")
    subprocess.run([compiler, *FLAGS, *defined, "-shared", "-fPIC", source, "-o", file], check=True)
    library, pointer, fields = ctypes.CDLL(str(file)), ctypes.POINTER(real), ghosted(initial)
    library.advance.argtypes = [pointer, pointer, ctypes.c_long, real, ctypes.c_long]
    library.advance.restype = None

    def advance(steps: int) -> None:
        even, odd = (field.ctypes.data_as(pointer) for field in fields)
        library.advance(even, odd, len(initial), NUMBER, steps)
        if steps % 2:
            fields.reverse()

    return Steps(advance, lambda: fields[0][1:-1, 1:-1, 1:-1])


def devito_(initial: np.ndarray) -> Steps:
    """Its own time loop; points are the cell centres, and its halo stays zero: the boundary."""
    os.environ.update(DEVITO_LANGUAGE="openmp", DEVITO_AUTOPADDING="1", DEVITO_LOGGING="ERROR")  # read on import
    from devito import Eq, Grid, Operator, TimeFunction, solve

    n = len(initial)
    grid = Grid(shape=initial.shape, extent=((n - 1) / n,) * 3, dtype=initial.dtype.type)
    u = TimeFunction(name="u", grid=grid, time_order=1, space_order=2)
    if SLOPE:
        beside = (u.subs(axis, axis + side * axis.spacing) for axis in grid.dimensions for side in (-1, 1))
        update = Eq(u.forward, u + NUMBER * (sum(map(potential, beside)) - 6 * potential(u)))
    else:
        update = Eq(u.forward, solve(u.dt - NUMBER / (n * n * TIME_STEP) * u.laplace, u.forward))
    operator, now = Operator([update], opt="advanced"), 0

    def run(steps: int, **options: str) -> None:
        nonlocal now
        operator.apply(time_m=now, time_M=now + steps - 1, dt=1.0, **options)
        now += steps

    u.data[0] = initial
    run(1, autotune="aggressive")
    u.data_with_halo[:] = 0
    u.data[0] = initial
    now = 0
    return Steps(run, lambda: np.asarray(u.data[now % 2]))


def pystencils_(initial: np.ndarray) -> Steps:
    """Generated C++ kernels, swapped by a Python time loop."""
    import pystencils
    from pystencils.alignedarray import aligned_zeros

    fields = []
    for inner in (initial, np.zeros_like(initial)):
        shape = tuple(size + 2 for size in inner.shape)
        fields.append(aligned_zeros(shape, byte_alignment=64, dtype=inner.dtype, byte_offset=inner.itemsize))
        fields[-1][1:-1, 1:-1, 1:-1] = inner
    u, v = (
        pystencils.Field.create_from_numpy_array(*each, index_dimensions=0) for each in zip("uv", fields, strict=True)
    )
    axes = [(1, 0, 0), (0, 1, 0), (0, 0, 1)]
    neighbours = sum(potential(u[axis]) + potential(u[tuple(-i for i in axis)]) for axis in axes)
    change = NUMBER * (neighbours - 6 * potential(u.center()))
    plain = (1 - 6 * NUMBER) * u.center() + NUMBER * neighbours
    update = pystencils.Assignment(v.center(), u.center() + change if SLOPE else plain)
    configuration = pystencils.CreateKernelConfig(target=pystencils.Target.auto_cpu(), default_dtype=initial.dtype.name)
    configuration.cpu.openmp.enable = configuration.cpu.vectorize.enable = True
    configuration.cpu.vectorize.assume_inner_stride_one = configuration.cpu.vectorize.assume_aligned = True
    configuration.cpu.vectorize.use_nontemporal_stores = ["v"]
    kernel = pystencils.create_kernel([update], configuration).compile()
    return Steps(swapping(lambda old, new: kernel(u=old, v=new), fields), lambda: fields[0][1:-1, 1:-1, 1:-1])


def jax_(initial: np.ndarray) -> Steps:
    """One jitted `fori_loop` over the steps; the state carries its ghost layer and is donated."""
    import jax
    from jax import numpy as jnp

    jax.config.update("jax_enable_x64", initial.dtype == np.float64)

    def sweep(_: int, u: jax.Array) -> jax.Array:
        return jnp.pad(u[1:-1, 1:-1, 1:-1] + changes(potential(u)), 1)

    @partial(jax.jit, donate_argnums=0)
    def loop(u: jax.Array, steps: int) -> jax.Array:
        return jax.lax.fori_loop(0, steps, sweep, u)

    field = jnp.asarray(np.pad(initial, 1))

    def advance(steps: int) -> None:
        nonlocal field
        field = loop(field, steps).block_until_ready()

    return Steps(advance, lambda: np.asarray(field)[1:-1, 1:-1, 1:-1])


def changes(drives: Any) -> Any:
    """What a step adds to the cells, of an array with its ghost layer."""
    in_z = drives[2:, 1:-1, 1:-1] + drives[:-2, 1:-1, 1:-1]
    in_y = drives[1:-1, 2:, 1:-1] + drives[1:-1, :-2, 1:-1]
    in_x = drives[1:-1, 1:-1, 2:] + drives[1:-1, 1:-1, :-2]
    return NUMBER * (in_z + in_y + in_x - 6 * drives[1:-1, 1:-1, 1:-1])


def torch_(initial: np.ndarray) -> Steps:
    """One step of ghosted fields under torch.compile, in a Python time loop."""
    import torch

    @torch.compile
    def sweep(old: torch.Tensor, new: torch.Tensor) -> None:
        new[1:-1, 1:-1, 1:-1].copy_(old[1:-1, 1:-1, 1:-1] + changes(potential(old)))

    torch.set_grad_enabled(False)
    fields = [torch.from_numpy(each) for each in ghosted(initial)]
    return Steps(swapping(sweep, fields), lambda: fields[0][1:-1, 1:-1, 1:-1].numpy())


def numpy_(initial: np.ndarray) -> Steps:
    """One thread, plane by plane with `out=`, so that the temporaries stay in cache."""
    fields, scratch = ghosted(initial), np.empty_like(initial[0])

    def sweep(old: np.ndarray, new: np.ndarray) -> None:
        below, drives = potential(old[0]), potential(old[1])
        for k in range(1, len(old) - 1):
            above, out = potential(old[k + 1]), new[k, 1:-1, 1:-1]
            np.add(below[1:-1, 1:-1], above[1:-1, 1:-1], out=out)
            for neighbour in (drives[2:, 1:-1], drives[:-2, 1:-1], drives[1:-1, 2:], drives[1:-1, :-2]):
                out += neighbour
            out *= NUMBER
            np.multiply(drives[1:-1, 1:-1], (0 if SLOPE else 1) - 6 * NUMBER, out=scratch)
            out += scratch
            if SLOPE:
                out += old[k, 1:-1, 1:-1]
            below, drives = drives, above

    return Steps(swapping(sweep, fields), lambda: fields[0][1:-1, 1:-1, 1:-1])


def pypde_(initial: np.ndarray) -> Steps:
    """Its DiffusionPDE under its fixed-step Euler solver."""
    if SLOPE:
        raise ImportError("solves constant diffusivities")
    import pde

    backend = "jax" if find_spec("jax") else "numba"
    if backend == "jax":
        import jax

        jax.config.update("jax_enable_x64", initial.dtype == np.float64)
    pde.config["backend.numba.multithreading"] = "always"
    grid = pde.CartesianGrid([[0, 1]] * 3, initial.shape)
    field = pde.ScalarField(grid, initial, dtype=initial.dtype)
    equation = pde.DiffusionPDE(diffusivity=NUMBER / (len(initial) ** 2 * TIME_STEP), bc={"value": 0})
    stepper = pde.EulerSolver(equation, backend=backend).make_stepper(field, dt=TIME_STEP)

    def advance(steps: int) -> None:
        stepper(field, 0.0, steps * TIME_STEP)

    return Steps(advance, lambda: field.data)


PROGRAMS = {
    "heatsim": Program(heatsim_, "face", "heatsim.run, kernel auto, loop_seconds of run.json: the steps", ("heatsim",)),
    "c_openmp": Program(c_openmp, "ghost", f"{' '.join(FLAGS)}; all steps in one parallel region, omp simd inner loop"),
    "devito": Program(
        devito_, "ghost", "openmp, opt=advanced (blocking, SIMD), padded rows, aggressive autotuning", ("devito",)
    ),
    "pystencils": Program(
        pystencils_,
        "ghost",
        "OpenMP, widest vector intrinsics of this CPU, sizes fixed at compile time, rows aligned to 64 bytes; "
        "streaming stores asked for (pystencils 2.0 ignores that option)",
        ("pystencils",),
    ),
    "jax": Program(jax_, "ghost", "jit(fori_loop), ghosted state, donated buffers", ("jax", "jaxlib")),
    "torch": Program(torch_, "ghost", "torch.compile (inductor, C++ with OpenMP), Python time loop", ("torch",)),
    "numpy": Program(numpy_, "ghost", "plane by plane, out= everywhere, one thread", ("numpy",)),
    "pypde": Program(pypde_, "face", "DiffusionPDE, EulerSolver, backend jax where installed, else numba", ("pde",)),
}


class ExplicitPeer:
    """A program and the grid that it holds ready."""

    def __init__(self, name: str, cores: str) -> None:
        os.sched_setaffinity(0, [int(core) for core in cores.split(",")])  # before any library counts the cores
        # Each OpenMP thread has a core of its own: left free, two at times share one, and wait for each other there.
        os.environ.update(OMP_PROC_BIND="close", OMP_PLACES="cores")
        self.name, self.program = name, PROGRAMS[name]

    def verify(self, n: int, dtype: str) -> dict[str, str]:
        """What the table says of the program, with "failed" if it is wrong. Else the grid of n^3 cells is held ready,
        and compiled."""
        prepare, boundary, settings, needs = self.program
        absent = [module for module in needs if find_spec(module) is None]
        if absent:
            raise ImportError(f"not installed: {', '.join(absent)}")
        about = {"boundary": boundary, "settings": settings}
        about["version"] = version("py-pde" if self.name == "pypde" else needs[0]) if needs else ""
        for size in VERIFICATION_SIZES:
            initial = initial_field(size, dtype)
            steps = prepare(initial.copy())
            steps.advance(VERIFICATION_STEPS)
            result = steps.result()
            if (result.shape, result.dtype.name) != (initial.shape, dtype):
                return about | {"failed": f"result is {result.dtype} {result.shape}, not {dtype} {initial.shape}"}
            error = np.abs(result - reference(initial, VERIFICATION_STEPS, boundary)).max()
            if not error <= TOLERANCE * np.finfo(dtype).eps:
                return about | {"failed": f"off by {error:.1e} at {size}^3 after {VERIFICATION_STEPS} steps"}
        self.steps = prepare(initial_field(n, dtype))
        self.steps.advance(8)
        return about

    def run(self, steps: int) -> float:
        """Seconds that so many steps took."""
        begun = time.perf_counter()
        seconds = self.steps.advance(steps)
        return time.perf_counter() - begun if seconds is None else seconds

    def found(self) -> dict[str, str]:
        """Nothing more."""
        return {}


make_peer = ExplicitPeer
