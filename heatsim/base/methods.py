"""Methods in time: what is known of each before anything is built.

Scenarios, their checks and estimates ask a `Method`; `heatsim.solve.integrators.INTEGRATORS` has what computes by it,
under the same name. The order of METHODS is that of the schema, of estimates and of benchmarks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

DEFAULT_TOLERANCE = 1e-3  # of the range of temperatures, where time.tolerance is left out
STEADY_TOLERANCE = 1e-6  # the same, from the limit of long times
SOLVER_KERNELS = {"cpu": "multigrid", "cuda": "multigrid_cuda"}  # kernels of linear solvers, by device


class SolverBytes(NamedTuple):
    """Bytes a cell of the matrices, vectors and levels of a solver: of a linear problem in `single` and in `double`
    precision, and of one that depends on temperature."""

    single: int
    double: int
    nonlinear: int


@dataclass(frozen=True)
class Method:
    """The facts of a method in time.

    name: in scenario files.
    to_limit: whether it finds the steady state in place of going through time; its ledger is one of rates.
    bounded_by_stability: whether its steps have to stay below the stability limit of explicit Euler.
    follows_sources: whether it takes sources that depend on temperature.
    takes_unsymmetric: whether it takes an exchange that follows one side more than the other, as what a flow carries:
        its matrix is not symmetric, and its spectrum is complex.
    ends_at_kinks: whether its steps have to end where an input has a kink or a discontinuity.
    default_tolerance: `time.tolerance` where it is left out; None if it has no use for a tolerance.
    schemes: the values of `time.method` that it knows.
    kernels: the kernels of its linear solver by device; None if it takes steps with a stencil kernel.
    bytes_a_cell: memory of the device, by its name, if it solves.
    fields: fields of the run's precision on the device, at most, if it does not.
    kernel_count: kernels that a run compiles if none are on the disk, about.
    """

    name: str
    to_limit: bool = False
    bounded_by_stability: bool = False
    follows_sources: bool = True
    takes_unsymmetric: bool = False
    ends_at_kinks: bool = True
    default_tolerance: float | None = None
    schemes: tuple[str, ...] = ()
    kernels: Mapping[str, str] | None = None
    bytes_a_cell: Mapping[str, SolverBytes] = field(default_factory=dict)
    fields: int = 2
    kernel_count: int = 4

    @property
    def solves(self) -> bool:
        """Whether it solves linear systems."""
        return self.kernels is not None

    @property
    def controls_error(self) -> bool:
        """Whether the sizes of its steps follow a tolerance."""
        return self.default_tolerance is not None and not self.to_limit

    @property
    def energy_unit(self) -> str:
        """The unit of its ledger."""
        return "W" if self.to_limit else "J"


EULER = Method("euler", bounded_by_stability=True, takes_unsymmetric=True, ends_at_kinks=False)
RKL2 = Method(
    "rkl2",
    default_tolerance=DEFAULT_TOLERANCE,
    fields=5,  # where boundary faces or sources depend on time
    follows_sources=False,  # the stages of a step share the sources of its start, which would make it of first order
)
# Bytes are measured: docs/reports/faults.md; on a GPU the first and the last, at 128^3 and 256^3 cells.
IMPLICIT = Method(
    "implicit",
    default_tolerance=DEFAULT_TOLERANCE,
    schemes=("tr-bdf2", "backward-euler"),
    kernels=SOLVER_KERNELS,
    bytes_a_cell={"cpu": SolverBytes(190, 220, 428), "cuda": SolverBytes(256, 290, 392)},
    kernel_count=17,
)
STEADY = Method(
    "steady",
    to_limit=True,
    ends_at_kinks=False,
    default_tolerance=STEADY_TOLERANCE,
    kernels=SOLVER_KERNELS,
    bytes_a_cell={"cpu": SolverBytes(156, 188, 206), "cuda": SolverBytes(250, 250, 250)},
    kernel_count=17,
)
METHODS = {each.name: each for each in (EULER, RKL2, IMPLICIT, STEADY)}
