"""HotSpot's package model: what a sink with fins or pins gives off to air, from its geometry.

The formulas are those of HotSpot's `package.c`, which takes them from textbooks: Teertstra et al. (SEMI-THERM 1999) for
laminar flow between fins, Cengel (Heat and Mass Transfer, 2007) for turbulent flow and natural convection, Ribando's
notes for banks of pins, El-Sheikh and Garimella (IEEE Trans. Adv. Packaging 23, 2000) for impinging flow.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil, log, pi, sqrt, tanh

# What HotSpot takes where the package's configuration does not say otherwise; SI units, rpm in 1/min.
PACKAGE_DEFAULTS = {
    "natural_convec": 0.0,
    "flow_type": 0.0,
    "sink_type": 0.0,
    "fin_height": 0.03,
    "fin_width": 0.001,
    "channel_width": 0.002,
    "pin_height": 0.02,
    "pin_diam": 0.002,
    "pin_dist": 0.005,
    "fan_radius": 0.03,
    "motor_radius": 0.01,
    "rpm": 1000.0,
}
PACKAGE_CHOICES = "natural_convec", "flow_type", "sink_type"  # 0 or 1
R_CONVEC_LOW, R_CONVEC_HIGH = 0.01, 50.0  # K/W, beyond which HotSpot warns
# Air, in SI units.
DENSITY, CONDUCTIVITY, DYNAMIC_VISCOSITY, KINEMATIC_VISCOSITY, PRANDTL = 1.059, 0.028, 2e-5, 1.9e-5, 0.73
EXPANSION, GRAVITY = 3e-3, 9.8
STEFAN, EMISSIVITY = 5.67e-8, 0.95
TURBULENT = 3500.0  # the Reynolds number where flow between fins is
RPM = 0.105  # rad/s


def package_film(package: Mapping[str, float], values: Mapping[str, float]) -> float | str:
    """The coefficient on the top of the sink, W/(m2 K); of natural convection an expression in T, K. values: of the
    configuration. Raises ValueError or ArithmeticError for sizes that do not fit together."""
    side = values["s_sink"]
    fins = ceil((side - package["fin_width"]) / (package["fin_width"] + package["channel_width"]) - 0.5)
    along = (side - package["pin_diam"]) / (package["pin_diam"] + package["pin_dist"])
    pins = ceil(along**2 - 0.5)
    of_fins = side * (side + 2.0 * fins * package["fin_height"])  # m2
    of_pins = side**2 + pi * package["pin_diam"] * package["pin_height"] * pins
    has_pins = bool(package["sink_type"])
    area, gap = (of_pins, package["pin_dist"]) if has_pins else (of_fins, package["channel_width"])
    if package["natural_convec"]:
        return _natural(area, gap, side, values["ambient"])
    if package["flow_type"]:
        conductance = _impinging(package, side, pins, area)
    elif has_pins:
        conductance = _between_pins(package, side, pins, area)
    else:
        conductance = _between_fins(package, side, fins, values["k_sink"])
    return conductance / side**2


def _natural(area: float, gap: float, side: float, ambient: float) -> str:
    """Natural convection between fins, and radiation of all their surface."""
    rise = f"max(T - {ambient!r}, 0.01)"
    rayleigh = GRAVITY * EXPANSION * gap**3 * PRANDTL / KINEMATIC_VISCOSITY**2 * gap / side  # of 1 K
    nusselt = f"(576/({rayleigh:.9g}*{rise})**2 + 2.873/sqrt({rayleigh:.9g}*{rise}))**(-0.5)"
    radiation = f"{EMISSIVITY * STEFAN:.9g}*(T**2 + {ambient!r}**2)*(T + {ambient!r})"
    return f"{area / side**2:.9g}*({CONDUCTIVITY / gap:.9g}*{nusselt} + {radiation})"


def _fan(package: Mapping[str, float]) -> float:
    """The air that a fan moves, m3/s."""
    reach = sqrt(package["fan_radius"] ** 2 - package["motor_radius"] ** 2)
    blades, mean = pi * reach**2, package["motor_radius"] + reach
    return blades * sqrt(0.25 * pi * mean**3 * package["rpm"] * RPM / blades)


def _between_fins(package: Mapping[str, float], side: float, fins: int, k_sink: float) -> float:
    """W/K of air that flows along a sink with fins."""
    gap = package["channel_width"]
    speed = _fan(package) / ((fins - 1) * gap * package["fin_height"])
    wide = 2.0 * gap * side / (gap + side)  # hydraulic diameter, m
    reynolds = DENSITY * speed * wide / DYNAMIC_VISCOSITY
    if reynolds <= TURBULENT:
        channel = DENSITY * speed * gap**2 / (DYNAMIC_VISCOSITY * side)
        developed = (0.5 * channel * PRANDTL) ** -3
        developing = (0.664 * sqrt(channel) * PRANDTL**0.33 * sqrt(1.0 + 3.65 / sqrt(channel))) ** -3
        film = (developed + developing) ** -0.33 * CONDUCTIVITY / gap
    else:
        friction = (0.79 * log(reynolds) - 1.64) ** -2.0
        film = 0.125 * friction * reynolds * PRANDTL**0.33 * CONDUCTIVITY / wide
    decay = sqrt(2.0 * film / (k_sink * package["fin_width"])) * side
    return float(film * (gap + 2.0 * tanh(decay) / decay * side) * fins * side)


def _between_pins(package: Mapping[str, float], side: float, pins: int, area: float) -> float:
    """W/K of air that flows along a sink with pins."""
    rows = sqrt(pins) - 1.0
    speed = _fan(package) / (rows * package["pin_dist"] * package["pin_height"])
    # HotSpot takes the hydraulic diameter of channels between fins here, too.
    gap = package["channel_width"]
    reynolds = DENSITY * speed * (2.0 * gap * side / (gap + side)) / DYNAMIC_VISCOSITY
    c1, c2 = 0.6, 0.8 + 0.8333 * sqrt(rows) / (1.0 + 0.03 * rows**2) ** 0.25
    nusselt = 0.4 + 0.9 * (1.25 * c2 * c1 * sqrt(reynolds) + 0.001 * reynolds) * PRANDTL**0.33
    return float(nusselt * CONDUCTIVITY / package["pin_diam"] * area)


def _impinging(package: Mapping[str, float], side: float, pins: int, area: float) -> float:
    """W/K of air that flows down on a sink."""
    speed = _fan(package) / (side**2 - pins * pi * (0.5 * package["pin_diam"]) ** 2)
    wide = 2.0 * side / sqrt(pi)  # m, of a nozzle as large as the sink
    reynolds = DENSITY * speed * wide / DYNAMIC_VISCOSITY
    nusselt = 1.92 * reynolds**0.716 * PRANDTL**0.4 * (area / side**2) ** -0.698
    return float(nusselt * CONDUCTIVITY / wide * area)
