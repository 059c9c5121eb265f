"""The problems of `heatsim verify`: for each scenario under scenarios/verify/ its answer, and how a run is judged."""

from heatsim.verify.problem import Problem
from heatsim.verify.problems import (
    iso_10211,
    manufactured,
    melting,
    modes,
    moving,
    nafems,
    small_bodies,
    steady,
    steps_in_time,
    thermal_bridges,
    transients,
)

PROBLEMS: tuple[Problem, ...] = (
    *iso_10211.PROBLEMS,
    *thermal_bridges.PROBLEMS,
    *nafems.PROBLEMS,
    *modes.PROBLEMS,
    *transients.PROBLEMS,
    *small_bodies.PROBLEMS,
    *steady.PROBLEMS,
    *melting.PROBLEMS,
    *moving.PROBLEMS,
    *manufactured.PROBLEMS,
    *steps_in_time.PROBLEMS,
)
