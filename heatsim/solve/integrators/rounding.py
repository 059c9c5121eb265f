"""What rounding may cost an integrator that keeps its state in the precision of the field.

Rounding counts where an explicit integrator keeps its state in float32. An update of a cell is rounded by at most eps/2
of the range, so that n updates that are all rounded the same way are wrong by n eps/2 of it: so it goes where a
temperature changes by less than a unit of its last place in a step, and if it is less than half of one, nothing is
computed at all. The rounding of one stage of rkl2 grows to up to s/e times as much in the s stages of a step (in the
Legendre recurrence a difference falls like 1/j), that of all to s^2/4 + s roundings: a step may lose as much as the
s^2/4 explicit steps that it stands for. Where a step is many units it is rounded up as often as down, and little is
lost; so a share of the worst case is taken, which is a fact of each integrator.

What was lost long ago has flowed out with the heat. A rounding of one unit in each second, everywhere and for ever,
leaves an error of at most max w, where w, s, solves L w = -1: the mean exit time of heat, through surfaces of given
temperature or exchange. L has no negative entries beside its diagonal, so whatever has L w <= -1 and w >= 0 is an upper
bound; `exit_time` builds one that rises plane by plane from one face of the box.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from heatsim_kernels.explicit.coefficients import StencilCoefficients

    from heatsim.problem import Problem


def rounding_loss(problem: Problem, share: float, updates: float, tolerance: float) -> float:
    """The share of the range that rounding may cost an explicit integrator, of so many updates up to the end; exit
    times are looked at only if it would be beyond a tolerance."""
    lost = share * updates * float(np.finfo(problem.dtype).eps) / 2
    return lost if lost <= tolerance else lost * min(1.0, _memory(problem) / problem.scenario.time.end)


def rounding_refusal(problem: Problem, lost: float, tolerance: float) -> str:
    """Why rounding would not leave an explicit integrator accurate enough, or ""."""
    if lost <= tolerance:
        return ""
    return f"may lose {lost:.2g} of the range to rounding in {problem.dtype.name}, beyond the tolerance"


def _memory(problem: Problem) -> float:
    """The exit time of a problem whose coefficients depend neither on temperature nor on time, s; else inf."""
    if problem.temperature_dependent or problem.boundary_faces.varies:
        return inf
    return exit_time(problem.coefficients, problem.boundary_values(np.zeros(1))[0][0])


def exit_time(coefficients: StencilCoefficients, boundary_a: np.ndarray) -> float:
    """An upper bound, s, of the mean time after which heat has left through the faces of the box; inf where none is
    found.

    boundary_a: (boundary_size,) of `Forcing`. Exact for layers along the axis of a single face that lets heat pass.
    """
    return min(_exit_time_through(coefficients, boundary_a, face) for face in range(6))


def _exit_time_through(coefficients: StencilCoefficients, boundary_a: np.ndarray, face: int) -> float:
    """The bound that rises plane by plane from a face on: each plane so much over the one before that its warmest class
    loses what it is given and what comes from the planes behind."""
    if coefficients.closed[face]:
        return inf
    values, planes = boundary_a[coefficients.boundary_values_of(face)], coefficients.classes_by_plane[face // 2]
    planes = planes if face % 2 else planes[::-1]  # the plane at the face comes last
    beyond = values if coefficients.boundary_per_cell else values[planes[-1]]
    if beyond.max() >= 0.0:
        return inf
    inwards, outwards = face ^ 1, coefficients.rates[:, face]
    rise, total = 0.0, 0.0
    for number, present in enumerate(planes, start=1):
        classes = np.flatnonzero(present & (coefficients.capacity > 0.0))
        rates = outwards[classes] * (-beyond.max() if number == len(planes) else 1.0)
        if not rates.all():
            return inf
        gained = 1.0 + coefficients.rates[classes, inwards] * rise
        rise = float((gained / rates).max(initial=0.0))
        total += rise
    return total
