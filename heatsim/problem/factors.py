"""Coefficients and emissivities that follow the temperature of their surface, as tables over it.

Such an expression is a product of a part in x, y, z, t, which `surfaces` treats as any other, and one in T alone, a
factor. Factors are tabulated as the materials are, over all temperatures that may be reached (`reach`), between which
the surface lies as the body does; beyond, where rounding alone leads, the last values hold.
"""

from __future__ import annotations

import numpy as np
from heatsim_kernels.stencil.nonlinear.terms import Factors

from heatsim.errors import ScenarioError
from heatsim.problem.nonlinear import Tabulated
from heatsim.problem.patches import Piece
from heatsim.problem.reach import times_of
from heatsim.problem.values import Key, Value, parted
from heatsim.problem.walls import Walls
from heatsim.scenario import Expression, Scenario
from heatsim.scenario.boundary import Convection, Radiation

HINT = "the surface may be as warm or cold as this: abs, max or min, as in max(T - 20, 0), keep it in bounds"


def factors_of(
    scenario: Scenario, walls: Walls, entries: np.ndarray | None, tables: Tabulated, reference: float
) -> Factors | None:
    """The factors of the faces, or None if there are none; `entries` as for `Surfaces`.

    Raises `ScenarioError` for one that is negative or not finite at a temperature that may be reached, and for an
    emissivity above 1.
    """
    # Rounded so that (T - 20.1)**0.25 has a value at an ambient of 20.1, which came here as a rise and in kelvin.
    T = np.round(reference + np.clip(tables.materials.rises, *tables.reached), 9)
    found: dict[Expression, int] = {}  # several faces may have one factor
    number = np.zeros(walls.starts[-1], np.uint32)
    for i, pieces in enumerate(walls.pieces):
        for piece in pieces:
            name, value = _strength(piece)
            others, factor = parted(value)
            if factor is not None:
                most = walls.checked(i, piece, name, others, times_of(scenario)).max()
                _require_bounds(scenario, (*piece.key, name), T, _at(factor, T), float(most))
                number[walls.starts[i] : walls.starts[i + 1]][piece.cells] = found.setdefault(factor, len(found) + 1)
    if not found:
        return None
    lines = np.stack([tables.materials.lines(_at(factor, T)) for factor in found])
    return Factors(lines, number if entries is None else number[entries])


def _strength(piece: Piece) -> tuple[str, Value]:
    """The name and the value of what may follow temperature on a piece of a face."""
    match piece.face:
        case Convection():
            return "coefficient", piece.face.coefficient
        case Radiation():
            return "emissivity", piece.face.emissivity
    return "", 0.0


def _at(factor: Expression, T: np.ndarray) -> np.ndarray:
    return np.broadcast_to(factor(T=T), T.shape)


def _require_bounds(scenario: Scenario, key: Key, T: np.ndarray, factor: np.ndarray, others: float) -> None:
    """`others`: the most by which the factor is multiplied."""
    emissivity = key[-1] == "emissivity"
    most = 1 + 1e-12 if emissivity else float(np.finfo(scenario.compute.precision).max)
    values = factor * max(others, 0.0)
    bad = ~((factor >= 0) & (values <= most))
    if bad.any():
        unit, wanted = scenario.temperature_unit, "from 0 to 1" if emissivity else ">= 0 (W/(m2 K))"
        found = f"{values[bad][0]:.6g} at T = {T[bad][0]:.6g}"
        message = f"expected values {wanted} for T from {T[0]:.6g} to {T[-1]:.6g} {unit}, found {found}"
        raise ScenarioError([scenario.problem_at(key, message, HINT)])
