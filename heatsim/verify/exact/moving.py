"""A point source that moves over the surface of a half-space at constant speed: Rosenthal's steady state.

D. Rosenthal, The theory of moving sources of heat, Trans. ASME 68 (1946) 849-866; C&J section 10.7.
"""

from __future__ import annotations

import numpy as np


def rosenthal(
    ahead: np.ndarray, aside: np.ndarray, power: float, speed: float, conductivity: float, diffusivity: float
) -> np.ndarray:
    """Rise (K) at `ahead` m before the source (negative: behind) and `aside` m from its line; power in W absorbed."""
    distance = np.hypot(ahead, aside)
    fall = np.exp(-speed * (ahead + distance) / (2.0 * diffusivity))
    return np.asarray(power / (2.0 * np.pi * conductivity * distance) * fall)
