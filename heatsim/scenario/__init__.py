"""The scenario file: its schema, loading with errors that name file, line and key, safe expressions."""

from heatsim.scenario.checks.warnings import find_warnings
from heatsim.scenario.expressions.expression import Expression, ExpressionError
from heatsim.scenario.loading import load, loads
from heatsim.scenario.model import Scenario, find_temperature_dependence
from heatsim.scenario.reference.schema import json_schema
from heatsim.scenario.reference.starter_template import starter

__all__ = [
    "Expression",
    "ExpressionError",
    "Scenario",
    "find_temperature_dependence",
    "find_warnings",
    "json_schema",
    "load",
    "loads",
    "starter",
]
