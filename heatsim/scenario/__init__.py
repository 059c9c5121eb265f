"""The scenario file: its schema, loading with errors that name file, line and key, safe expressions.

Names are imported when they are first used, so that a part of this package (`heatsim.scenario.language.base_model`,
say) can be imported without the rest of it: the boundary kinds in `heatsim.scenario.faces` are made of such parts, and
the scenario is made of the boundary kinds.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from heatsim.scenario.checks.cross_block import find_warnings
    from heatsim.scenario.language.expressions.expression import Expression
    from heatsim.scenario.language.expressions.parser import ExpressionError
    from heatsim.scenario.loading import load, load_again, loads
    from heatsim.scenario.model import (
        Scenario,
        find_losses,
        find_material_dependence,
        find_temperature_dependence,
    )
    from heatsim.scenario.reference.schema import json_schema
    from heatsim.scenario.reference.starter_template import starter

_HOMES = {
    "Expression": "language.expressions.expression",
    "ExpressionError": "language.expressions.parser",
    "Scenario": "model",
    "find_losses": "model",
    "find_material_dependence": "model",
    "find_temperature_dependence": "model",
    "find_warnings": "checks.cross_block",
    "json_schema": "reference.schema",
    "load": "loading",
    "load_again": "loading",
    "loads": "loading",
    "starter": "reference.starter_template",
}  # public name -> the module that defines it

__all__ = [
    "Expression",
    "ExpressionError",
    "Scenario",
    "find_losses",
    "find_material_dependence",
    "find_temperature_dependence",
    "find_warnings",
    "json_schema",
    "load",
    "load_again",
    "loads",
    "starter",
]


def __getattr__(name: str) -> Any:
    """Import a public name where it is first used (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
