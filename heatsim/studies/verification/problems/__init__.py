"""The problems of `heatsim verify`: for each scenario under scenarios/verify/ its answer, and how a run is judged."""

from heatsim.studies.verification.judgement import VerificationProblem
from heatsim.studies.verification.problems import (
    diffusion,
    iso_10211,
    manufactured,
    melting,
    modes,
    moving,
    nafems,
    steady,
    temperature_sources,
    transients,
)

PROBLEMS: tuple[VerificationProblem, ...] = (
    *iso_10211.PROBLEMS,
    *nafems.PROBLEMS,
    *modes.PROBLEMS,
    *transients.PROBLEMS,
    *transients.SMALL_BODY_PROBLEMS,
    *steady.PROBLEMS,
    *melting.PROBLEMS,
    *moving.PROBLEMS,
    *temperature_sources.PROBLEMS,
    *diffusion.PROBLEMS,
    *manufactured.PROBLEMS,
    *modes.TIME_ORDER_PROBLEMS,
)
