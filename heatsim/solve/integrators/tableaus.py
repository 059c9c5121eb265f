"""Runge-Kutta methods whose stages are solved one after another with one matrix.

Stage i of a step from (t, T) is at time t + c_i dt; with G(t, T) the heat that flows into each cell, W, and C its heat
capacity, J/K:

    T_i = T + dt/C sum over j <= i of a_ij G(t + c_j dt, T_j)

All a_ii are one number but for a first stage that is the old state itself (a_11 = 0), so all stages of a step share the
matrix C/(a_ii dt) + A. The last stage is the new state, which makes the methods L-stable: what decays faster than a
step resolves is gone after the step, and does not ring.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt


@dataclass(frozen=True)
class Tableau:
    """Coefficients of a method: c (s,), a (s rows, to the diagonal), and the weights of the embedded method.

    embedded_order: of the embedded method, whose difference from the method estimates the error of a step.
    error_constant: of the jump times (dt/t)^embedded_order, the largest error of a step dt at age t.
    growth_constant: of (g dt)^embedded_order, the error of a step of what grows like exp(g t).
    """

    name: str
    c: tuple[float, ...]
    a: tuple[tuple[float, ...], ...]
    embedded: tuple[float, ...]
    embedded_order: int
    error_constant: float
    growth_constant: float

    @property
    def weights(self) -> tuple[float, ...]:
        """b: the last row of a."""
        return self.a[-1]

    @property
    def diagonal(self) -> float:
        """a_ii of the implicit stages."""
        return self.a[-1][-1]

    @property
    def error_weights(self) -> tuple[float, ...]:
        """b minus the weights of the embedded method."""
        return tuple(b - e for b, e in zip(self.weights, self.embedded, strict=True))


# The old state is a stage for the trapezoidal rule alone, whose difference from the method estimates its error.
# Its error constant: of a decaying mode, most x^2 exp(-x)/2.
BACKWARD_EULER = Tableau(
    "backward Euler",
    c=(0.0, 1.0),
    a=((0.0,), (0.0, 1.0)),
    embedded=(0.5, 0.5),
    embedded_order=2,
    error_constant=0.27,
    growth_constant=0.5,
)

_GAMMA = 2.0 - sqrt(2.0)
_D, _W = _GAMMA / 2.0, sqrt(2.0) / 4.0

# Trapezoidal rule to t + gamma dt, then the second order backward difference: Bank et al., IEEE Trans. Electron Devices
# 32 (1985); as a Runge-Kutta method with its embedded third-order formula: Hosea and Shampine, Applied Numerical
# Mathematics 20 (1996) 21-37. Its error constant: of a decaying mode, most x^3 exp(-x), 1.34, times that of the method,
# 0.04.
TR_BDF2 = Tableau(
    "TR-BDF2",
    c=(0.0, _GAMMA, 1.0),
    a=((0.0,), (_D, _D), (_W, _W, _D)),
    embedded=((1.0 - _W) / 3.0, (3.0 * _W + 1.0) / 3.0, _D / 3.0),
    embedded_order=3,
    error_constant=0.054,
    growth_constant=0.0404,
)

SCHEMES = {"tr-bdf2": TR_BDF2, "backward-euler": BACKWARD_EULER}  # by the names of `time.method`
