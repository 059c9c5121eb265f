"""The effective conductivity of a medium along an axis, and how far it may be off.

The faces at both ends of the axis are held at 1 K and 0 K, the other faces let nothing pass, or are periodic. With Q
the heat that then passes, L the length and A the area, the effective conductivity is k = Q L/(A 1 K).

An approximate solution T bounds it from both sides. Its energy is not less than Q (the minimum principle of Dirichlet):

    Q <= sum of g (T_i - T_j)^2 over all faces                                                W, for 1 K

A flux q that leaves no heat in any voxel gives the other bound (Thomson's principle, of least dissipation). That of T
leaves a little; what it leaves is carried out along trees (`solver.network`), which makes it such a flux:

    Q >= Q_q^2 / (sum of q^2/g over all faces)

Both meet in the solution. The solver goes on until they are as close as is asked for.

The tortuosity factor is that of Cooper et al., TauFactor, SoftwareX 5 (2016) 203: the mean conductivity of all phases
over the effective one, which for one conducting phase is its share of the volume times its conductivity over it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from heatsim_kernels.solver.operator import Operator
from heatsim_kernels.solver.solver import Solver

from heatsim.base.shown import Shown
from heatsim.errors import NotConvergedError, RequestError
from heatsim.studies.homogenisation.devices import Device, choose_device, on_device
from heatsim.studies.homogenisation.media import AXES, Medium, Network, Networks, area_over_length

DEFAULT_TOLERANCE = 1e-4  # of the effective conductivity, between its bounds
FIRST_RESIDUAL, SHARPER = 0.03, 0.1  # of the first solve, in units of the tolerance, and what each later one leaves
LEAST_RESIDUAL = 1e-14  # below it is rounding
MAX_ITERATIONS = 200  # of all solves along an axis
OUT = 1e-3  # of the mean conductance: in the row of a voxel that takes no part
NOTHING = 1e-10  # of the mean conductivity: what rounding leaves where nothing leads through a periodic medium
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


@dataclass(frozen=True, repr=False, eq=False)  # arrays have no single truth: each is equal to itself
class EffectiveConductivity(Shown):
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

    def facts(self) -> tuple[str, dict[str, str]]:
        """A title and values by name: see `heatsim.base.shown`."""
        told = {}
        for name in self.along:
            axis = AXES.index(name)
            lower, upper = self.bounds[axis]
            told[f"along {name}"] = (
                f"{self.conductivity[axis, axis]:.6g} W/(m K), between {lower:.6g} and {upper:.6g}; tortuosity factor "
                f"{self.tortuosity[axis]:.4g}"
            )
        shares = ", ".join(f"{share:.4g}" for share in self.fractions)
        return "EffectiveConductivity", {**told, "mean of the phases": f"{self.mean:.6g} W/(m K)", "shares": shares}


@dataclass(frozen=True)
class _Problem:
    """A gradient along an axis, 0 for x: the network; along which axes it is periodic; and the drop of temperature from
    voxel to voxel along the axis that comes on top of the differences of T, K. Fields are of the device."""

    medium: Medium
    axis: int
    network: Network
    periodic: tuple[bool, bool, bool]
    drop: float
    device: Device

    @cached_property
    def heat(self) -> Any:
        """(nz, ny, nx) what flows into each voxel where T is 0, W, float64."""
        network, (kernels, networks) = self.network, self.device
        if self.drop:
            return networks.heat_of_drop(network.faces[self.axis], self.axis, self.drop)
        heat = kernels.field(self.medium.labels.shape, np.float64)
        networks.place(heat, network.lower.cells, network.lower.conductances.astype(np.float64))
        return heat

    @cached_property
    def operator(self) -> Operator:
        """The conductances, and ties to 0 K of voxels that take no part, and, without other ties, of one voxel in each
        part that hangs together: no heat flows there."""
        network, (kernels, networks) = self.network, self.device
        weak = self.medium.mean * area_over_length(self.medium, self.axis)
        ties = kernels.field(self.medium.labels.shape)
        for end in (network.lower, network.upper):
            networks.place(ties, end.cells, end.conductances)
        networks.place(ties, network.roots, np.full(network.roots.size, weak, np.float32))
        networks.fill_others(ties, network.taking_part, OUT * weak)
        return Operator(*network.faces, ties, self.periodic)

    def bounds(self, T: Any) -> tuple[float, float]:
        """Bounds of the conductivity, W/(m K): see the top of the module."""
        network, (kernels, networks) = self.network, self.device
        applied = kernels.field(self.medium.labels.shape, np.float64)
        kernels.sweep(network.faces, self.operator.s, T, None, None, applied)
        left = self.heat - applied
        if self.drop:
            flows = [networks.flow(g, T, number, self._drop(number)) for number, g in enumerate(network.faces)]
            passing, dissipated = flows[self.axis][0], sum(each for _, each in flows)
        else:
            lower, upper = (networks.pick(T, end.cells) for end in (network.lower, network.upper))
            entering = float((network.lower.conductances * (1.0 - lower)).sum())
            passing = float((network.upper.conductances * upper).sum())  # trees carry heat to the lower face
            dissipated = entering - kernels.dot(left, T)
        grown, more = networks.carry_out(network.trees, network.faces, T, self.axis, self.drop, left)
        grown += self._grown_at_the_ties(T, left)
        power = self.drop * (passing + more) if self.drop else passing  # for 1 K from face to face
        least = power**2 / (dissipated + grown) if dissipated + grown > 0 else 0.0
        return self._over_gradient(least), self._over_gradient(dissipated)

    def _grown_at_the_ties(self, T: Any, left: Any) -> float:
        """By how much the sum of q^2/g grows where heat that was carried to the lower ties leaves by them, W K."""
        cells, conductances = self.network.lower
        T_beside, heat = (self.device.networks.pick(values, cells) for values in (T, left))
        return float((2.0 * heat * (T_beside - 1.0) + heat**2 / conductances).sum())

    def flux(self, T: Any, axis: int) -> float:
        """The mean flux along an axis over the gradient, W/(m K)."""
        passing, _ = self.device.networks.flow(self.network.faces[axis], T, axis, self._drop(axis))
        return passing * self.medium.voxel[axis] / self._volume / self._gradient

    def _drop(self, axis: int) -> float:
        return self.drop if axis == self.axis else 0.0

    def _over_gradient(self, dissipated: float) -> float:
        """W K that are dissipated, as a conductivity."""
        return dissipated / (self._gradient**2 * self._volume)

    def shown(self, T: Any) -> np.ndarray:
        """The temperatures, of a mean gradient falling by 1 K from end to end; NaN in what takes no part."""
        values, taking_part = (self.device.kernels.get(each) for each in (T, self.network.taking_part))
        shown = np.where(taking_part, values, np.nan).astype(np.float32)
        if not self.drop:
            return shown
        count = shown.shape[2 - self.axis]
        falling = np.linspace(1.0, 0.0, count).reshape([-1 if place == 2 - self.axis else 1 for place in range(3)])
        return np.asarray(shown / (self.drop * count) + falling, np.float32)

    @property
    def _gradient(self) -> float:
        """K/m, of the drop or of 1 K from face to face."""
        drop = self.drop or 1.0 / self.medium.labels.shape[2 - self.axis]
        return drop / self.medium.voxel[self.axis]

    @property
    def _volume(self) -> float:
        """m3."""
        return float(np.prod(self.medium.voxel)) * self.medium.labels.size


def find_conductivity(
    medium: Medium,
    directions: Sequence[str] = AXES,
    *,
    sides: str = "insulated",
    tolerance: float = DEFAULT_TOLERANCE,
    device: str = "auto",
    keep: bool = False,
    on_axis: Callable[[str], None] = lambda axis: None,
) -> EffectiveConductivity:
    """The effective conductivity along some axes, to a relative tolerance.

    sides: "insulated" or "periodic", the four other faces; "all-periodic": there are no faces, and the medium repeats
    under a mean gradient. device: "cpu", "cuda", or "auto" for a GPU if there is one. keep: whether temperatures are
    kept. on_axis: called with the name of each axis before it is solved. Raises `NoGpuError`, and `NotConvergedError`
    where the bounds stay further apart than the tolerance.
    """
    if sides not in SIDES:
        raise RequestError(f"sides: expected one of {', '.join(SIDES)}, found {sides!r}")
    if not directions or not set(directions) <= set(AXES):
        raise RequestError(f"directions: expected some of {', '.join(AXES)}, found {directions!r}")
    if not 0.0 < tolerance < 1.0:
        raise RequestError(f"tolerance: expected a number between 0 and 1, found {tolerance:g}")
    begun, along = time.perf_counter(), {}
    place = on_device(choose_device(device, medium.labels.size))
    networks = Networks(medium, *place)
    for name in directions:
        on_axis(name)
        problem = _make_problem(medium, networks, AXES.index(name), sides, place)
        along[name] = NO_PATH if problem is None else _along(problem, tolerance, keep)
    conductivity, bounds = np.full((3, 3), np.nan), np.full((3, 2), np.nan)
    for name, found in along.items():
        conductivity[:, AXES.index(name)], bounds[AXES.index(name)] = found.flux, found.bounds
    effective = np.diagonal(conductivity)
    tortuosity = np.divide(medium.mean, effective, out=np.full(3, np.inf), where=effective > 0)
    tortuosity[np.isnan(effective)] = np.nan
    seconds = time.perf_counter() - begun
    return EffectiveConductivity(conductivity, bounds, tortuosity, medium.mean, medium.fractions, along, seconds)


def _along(problem: _Problem, tolerance: float, keep: bool) -> AlongAxis:
    medium, axis = problem.medium, problem.axis
    T, (lower, upper), iterations = _solve(problem, tolerance)
    if upper <= NOTHING * medium.mean:
        return NO_PATH._replace(iterations=iterations)
    taking_part = problem.device.networks.count(problem.network.taking_part) / medium.labels.size
    flux = [problem.flux(T, number) for number in range(3)]
    flux[axis] = 0.5 * (lower + upper)
    unconnected = 1.0 - taking_part / float(medium.fractions[medium.values > 0].sum())
    shown = problem.shown(T) if keep else None
    return AlongAxis((flux[0], flux[1], flux[2]), (lower, upper), max(0.0, unconnected), iterations, shown)


def _make_problem(medium: Medium, networks: Networks, axis: int, sides: str, device: Device) -> _Problem | None:
    """The problem of a gradient along an axis; None if nothing leads through the medium."""
    if sides == "all-periodic":
        network = networks.without_ends()
        return _Problem(medium, axis, network, (True, True, True), medium.voxel[axis], device)
    x, y, z = (sides == "periodic" and number != axis for number in range(3))
    between = networks.between_faces(axis, (x, y, z))
    return None if between is None else _Problem(medium, axis, between, (x, y, z), 0.0, device)


def _solve(problem: _Problem, tolerance: float) -> tuple[Any, tuple[float, float], int]:
    """The temperatures, the bounds, and how many iterations they took."""
    solver, history = Solver(problem.operator, problem.device.kernels, twice=True), []
    T, iterations, residual = None, 0, FIRST_RESIDUAL * tolerance
    while iterations < MAX_ITERATIONS:
        found = solver.solve(problem.heat, T, tolerance=residual, max_iterations=MAX_ITERATIONS - iterations)
        T, iterations = found.x, iterations + found.iterations
        residual *= SHARPER
        lower, upper = problem.bounds(T)
        history.append((upper - lower) / upper if upper > 0 else 0.0)
        if history[-1] <= tolerance or upper <= NOTHING * problem.medium.mean:
            return T, (lower, upper), iterations
        if residual < LEAST_RESIDUAL:
            break
    raise NotConvergedError(f"the solver along {AXES[problem.axis]}, in {iterations} iterations,", history)


# --- how the conductivity depends on the size of the part that is looked at
#
# A part is representative if parts of its size agree, and larger ones do. So cubes of growing sizes are cut out,
# without overlap, and each is solved.


LEAST_SIZE = 16  # voxels along an edge
HALVINGS = 4
MAX_CUBES = 8  # of one size


class CubesOfSize(NamedTuple):
    """size: voxels along an edge; values: (cubes, axes) their conductivities along some axes, W/(m K); means: (cubes,)
    the mean conductivities of their phases."""

    size: int
    values: np.ndarray
    means: np.ndarray


def find_in_parts(
    medium: Medium, directions: Sequence[str], *, sides: str, tolerance: float, device: str = "auto"
) -> list[CubesOfSize]:
    """The conductivities of cubes of a half, a quarter ... of the shortest edge, smallest first."""
    shortest, found = min(medium.labels.shape), []
    for halving in range(HALVINGS, 0, -1):
        size = shortest >> halving
        if size < LEAST_SIZE:
            continue
        values, means = [], []
        for corner in _corners(medium, size):
            part = medium.part(corner, size)
            means.append(part.mean)
            result = find_conductivity(part, directions, sides=sides, tolerance=tolerance, device=device)
            values.append([result.conductivity[AXES.index(name), AXES.index(name)] for name in directions])
        found.append(CubesOfSize(size, np.array(values), np.array(means)))
    return found


def _corners(medium: Medium, size: int) -> list[tuple[int, int, int]]:
    """(z, y, x) of cubes spread over the medium, MAX_CUBES at most."""
    places = [[number * size for number in range(n // size)] for n in medium.labels.shape]
    corners = list(product(*places))
    chosen = np.unique(np.linspace(0, len(corners) - 1, min(MAX_CUBES, len(corners))).round().astype(int))
    return [corners[number] for number in chosen.tolist()]
