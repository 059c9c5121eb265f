"""The scenario file: its schema, loading with errors that name file, line and key, safe expressions."""

from heatsim.scenario.cautions import cautions
from heatsim.scenario.expressions import Expression, ExpressionError
from heatsim.scenario.following import what_follows_temperature
from heatsim.scenario.loading import load, loads
from heatsim.scenario.model import Scenario
from heatsim.scenario.schema import schema
from heatsim.scenario.templates import starter

__all__ = [
    "Expression",
    "ExpressionError",
    "Scenario",
    "cautions",
    "load",
    "loads",
    "schema",
    "starter",
    "what_follows_temperature",
]
