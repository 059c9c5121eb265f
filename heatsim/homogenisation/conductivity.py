"""The effective conductivity of a medium along an axis, and how far it may be off.

The faces at both ends of the axis are held at 1 K and 0 K, the other faces let nothing pass, or are periodic. With Q
the heat that then passes, L the length and A the area, the effective conductivity is k = Q L/(A 1 K).

An approximate solution T bounds it from both sides. Its energy is not less than Q (the minimum principle of Dirichlet):

    Q <= sum of g (T_i - T_j)^2 over all faces                                                W, for 1 K

A flux q that leaves no heat in any voxel gives the other bound (Thomson's principle, of least dissipation). That of T
leaves a little; what it leaves is carried out along trees (`spanning_trees`), which makes it such a flux:

    Q >= Q_q^2 / (sum of q^2/g over all faces)

Both meet in the solution. The solver goes on until they are as close as is asked for.

The tortuosity factor is that of Cooper et al., TauFactor, SoftwareX 5 (2016) 203: the mean conductivity of all phases
over the effective one, which for one conducting phase is its share of the volume times its conductivity over it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from heatsim_kernels.multigrid.cpu import operations
from heatsim_kernels.multigrid.cpu.spanning_trees import ROOT, carry_out
from heatsim_kernels.multigrid.operator import Operator, SolverKernels
from heatsim_kernels.multigrid.solver import Solver

from heatsim.errors import NotConvergedError, RequestError
from heatsim.homogenisation.media import AXES, Medium, Network, network_between_faces, periodic_network
from heatsim.integrators.balance import solver_kernels
from heatsim.simulation.free_resources import free_memory

DEFAULT_TOLERANCE = 1e-4  # of the effective conductivity, between its bounds
FIRST_RESIDUAL, SHARPER = 0.03, 0.1  # of the first solve, in units of the tolerance, and what each later one leaves
LEAST_RESIDUAL = 1e-14  # below it is rounding
MAX_ITERATIONS = 200  # of all solves along an axis
OUT = 1e-3  # of the mean conductance: in the row of a voxel that takes no part
NOTHING = 1e-10  # of the mean conductivity: what rounding leaves where nothing leads through a periodic medium
BYTES_A_VOXEL = 130  # at most, beside those of the image
SIDES = "insulated", "periodic", "all-periodic"


class AlongAxis(NamedTuple):
    """What was found for a gradient along one axis: flux: (3,) the mean flux along x, y, z over that gradient, W/(m K);
    bounds: of its component along the axis; unconnected: the share of the conducting voxels that take no part;
    iterations; and the temperature (nz, ny, nx), K, NaN in what takes no part, if it was to be kept."""

    flux: tuple[float, float, float]
    bounds: tuple[float, float]
    unconnected: float
    iterations: int
    temperature: np.ndarray | None


NO_PATH = AlongAxis((0.0, 0.0, 0.0), (0.0, 0.0), 1.0, 0, None)


@dataclass(frozen=True)
class EffectiveConductivity:
    """The effective conductivity of a medium.

    conductivity: (3, 3) W/(m K), mean flux along x, y, z (rows) for a unit gradient along x, y, z (columns), NaN where
    none was asked for; bounds: (3, 2) between which the ones along the axes lie; tortuosity: (3,), infinite where
    nothing leads through; mean: the mean conductivity of all phases; fractions: (n,) of the phases; along: by axis.
    """

    conductivity: np.ndarray
    bounds: np.ndarray
    tortuosity: np.ndarray
    mean: float
    fractions: np.ndarray
    along: dict[str, AlongAxis]
    seconds: float


@dataclass(frozen=True)
class _Problem:
    """A gradient along an axis, 0 for x: the network; along which axes it is periodic; and the drop of temperature from
    voxel to voxel along the axis that comes on top of the differences of T, K."""

    medium: Medium
    axis: int
    network: Network
    periodic: tuple[bool, bool, bool]
    drop: float

    @property
    def heat(self) -> np.ndarray:
        """(nz, ny, nx) what flows into each voxel where T is 0, W, float64."""
        if not self.drop:
            return self.network.lower.astype(np.float64)
        g, place = self.network.faces[self.axis].astype(np.float64), 2 - self.axis
        return np.asarray(self.network.lower + self.drop * (np.roll(g, 1, place) - g))

    @property
    def operator(self) -> Operator:
        """What conducts. Voxels that take no part, and without ties one in each part that hangs together, are tied to 0
        K: no heat flows there."""
        network, ties = self.network, self.network.lower + self.network.upper
        weak = float(network.faces[self.axis].mean()) or 1.0
        if self.drop:
            ties.reshape(-1)[network.ways == ROOT] = weak
        ties[~network.taking_part] = OUT * weak
        return Operator(*network.faces, ties, self.periodic)

    def bounds(self, operator: Operator, T: np.ndarray) -> tuple[float, float]:
        """Bounds of the conductivity, W/(m K): see above."""
        network, left = self.network, operations.field(T.shape, np.float64)
        operations.sweep(network.faces, operator.s, T, None, None, left)
        np.subtract(self.heat, left, out=left)
        if self.drop:
            dissipated = sum(
                float((g * self._differences(T, number) ** 2).sum()) for number, g in enumerate(network.faces)
            )
            passing = self._passing(T, self.axis)
        else:
            entering = float((network.lower * (1.0 - T)).sum(dtype=np.float64))
            passing = float((network.upper * T).sum(dtype=np.float64))  # the trees carry heat to the lower face
            dissipated = entering - float((left * T).sum())
        gx, gy, gz = (g.reshape(-1) for g in network.faces)
        flat = left.reshape(-1), network.lower.reshape(-1)
        grown, more = carry_out(
            gx, gy, gz, T.shape, network.order, network.ways, T.reshape(-1), self.axis, self.drop, *flat
        )
        power = self.drop * (passing + more) if self.drop else passing  # for 1 K from face to face
        lower = power**2 / (dissipated + grown) if dissipated + grown > 0 else 0.0
        return self._over_gradient(lower), self._over_gradient(dissipated)

    def flux(self, T: np.ndarray, axis: int) -> float:
        """The mean flux along an axis over the gradient, W/(m K)."""
        return self._passing(T, axis) * self.medium.voxel[axis] / self._volume / self._gradient

    def _passing(self, T: np.ndarray, axis: int) -> float:
        """What passes all faces of an axis, W."""
        return float((self.network.faces[axis] * self._differences(T, axis)).sum())

    def _differences(self, T: np.ndarray, axis: int) -> np.ndarray:
        """By how much each voxel is warmer than the next along an axis, K."""
        return np.asarray(T - np.roll(T, -1, 2 - axis) + (self.drop if axis == self.axis else 0.0))

    def _over_gradient(self, dissipated: float) -> float:
        """W K that are dissipated, as a conductivity."""
        return dissipated / (self._gradient**2 * self._volume)

    def shown(self, T: np.ndarray) -> np.ndarray:
        """The temperatures, of a mean gradient falling by 1 K from end to end."""
        if not self.drop:
            return T
        count = T.shape[2 - self.axis]
        falling = np.linspace(1.0, 0.0, count).reshape([-1 if place == 2 - self.axis else 1 for place in range(3)])
        return np.asarray(T / (self.drop * count) + falling)

    @property
    def _gradient(self) -> float:
        """K/m, of the drop or of 1 K from face to face."""
        drop = self.drop or 1.0 / self.medium.labels.shape[2 - self.axis]
        return drop / self.medium.voxel[self.axis]

    @property
    def _volume(self) -> float:
        """m3."""
        return float(np.prod(self.medium.voxel)) * self.medium.labels.size


def most_voxels() -> int:
    """How many an image may have, for the memory that is free."""
    return int(min(free_memory()[0] / BYTES_A_VOXEL, 2**31 - 1))


def find_conductivity(
    medium: Medium,
    directions: Sequence[str] = AXES,
    *,
    sides: str = "insulated",
    tolerance: float = DEFAULT_TOLERANCE,
    device: str = "cpu",
    keep: bool = False,
    on_axis: Callable[[str], None] = lambda axis: None,
) -> EffectiveConductivity:
    """The effective conductivity along some axes, to a relative tolerance.

    sides: "insulated" or "periodic", the four other faces; "all-periodic": there are no faces, and the medium repeats
    under a mean gradient. device: "cpu" or "cuda", where the linear systems are solved. keep: whether temperatures are
    kept. on_axis: called with the name of each axis before it is solved. Raises `NoGpuError`, and `NotConvergedError`
    where the bounds stay further apart than the tolerance.
    """
    if sides not in SIDES:
        raise RequestError(f"sides: expected one of {', '.join(SIDES)}, found {sides!r}")
    if not 0.0 < tolerance < 1.0:
        raise RequestError(f"tolerance: expected a number between 0 and 1, found {tolerance:g}")
    kernels = solver_kernels(device)
    begun, along = time.perf_counter(), {}
    for name in directions:
        on_axis(name)
        problem = _make_problem(medium, AXES.index(name), sides)
        along[name] = NO_PATH if problem is None else _along(problem, tolerance, kernels, keep)
    conductivity, bounds = np.full((3, 3), np.nan), np.full((3, 2), np.nan)
    for name, found in along.items():
        conductivity[:, AXES.index(name)], bounds[AXES.index(name)] = found.flux, found.bounds
    effective = np.diagonal(conductivity)
    tortuosity = np.divide(medium.mean, effective, out=np.full(3, np.inf), where=effective > 0)
    tortuosity[np.isnan(effective)] = np.nan
    seconds = time.perf_counter() - begun
    return EffectiveConductivity(conductivity, bounds, tortuosity, medium.mean, medium.fractions, along, seconds)


def _along(problem: _Problem, tolerance: float, kernels: SolverKernels, keep: bool) -> AlongAxis:
    medium, axis = problem.medium, problem.axis
    T, (lower, upper), iterations = _solve(problem, tolerance, kernels)
    if upper <= NOTHING * medium.mean:
        return NO_PATH._replace(iterations=iterations)
    taking_part = problem.network.taking_part
    flux = [problem.flux(T, number) for number in range(3)]
    flux[axis] = 0.5 * (lower + upper)
    unconnected = 1.0 - float(taking_part.mean()) / float(medium.fractions[medium.values > 0].sum())
    shown = np.where(taking_part, problem.shown(T), np.nan).astype(np.float32) if keep else None
    return AlongAxis((flux[0], flux[1], flux[2]), (lower, upper), max(0.0, unconnected), iterations, shown)


def _make_problem(medium: Medium, axis: int, sides: str) -> _Problem | None:
    """None if nothing leads through."""
    if sides == "all-periodic":
        return _Problem(medium, axis, periodic_network(medium), (True, True, True), medium.voxel[axis])
    wraps = [sides == "periodic" and number != axis for number in range(3)]
    network = network_between_faces(medium, axis, sides == "periodic")
    return None if network is None else _Problem(medium, axis, network, (wraps[0], wraps[1], wraps[2]), 0.0)


def _solve(problem: _Problem, tolerance: float, kernels: SolverKernels) -> tuple[np.ndarray, tuple[float, float], int]:
    """The temperatures, the bounds, and how many iterations they took."""
    operator, heat = problem.operator, problem.heat
    solver, history = Solver(operator, kernels, twice=True), []
    T, iterations, residual = np.zeros(heat.shape), 0, FIRST_RESIDUAL * tolerance
    while iterations < MAX_ITERATIONS:
        found = solver.solve(
            kernels.put(heat), kernels.put(T), tolerance=residual, max_iterations=MAX_ITERATIONS - iterations
        )
        T, iterations = np.asarray(kernels.get(found.x)), iterations + found.iterations
        residual *= SHARPER
        lower, upper = problem.bounds(operator, T)
        history.append((upper - lower) / upper if upper > 0 else 0.0)
        if history[-1] <= tolerance or upper <= NOTHING * problem.medium.mean:
            return T, (lower, upper), iterations
        if residual < LEAST_RESIDUAL:
            break
    raise NotConvergedError(f"the solver along {AXES[problem.axis]}, in {iterations} iterations,", history)
