"""The scenario file: its schema, loading with errors that name file, line and key, safe expressions.

Names are imported when they are first used, so that a part of this package (`heatsim.scenario.language.base_model`,
say) can be imported without the rest of it: the boundary kinds in `heatsim.scenario.faces` are made of such parts, and
the scenario is made of the boundary kinds.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # under their own names, which makes them public
    from heatsim.scenario.checks.cross_block import find_warnings as find_warnings
    from heatsim.scenario.language.expressions.expression import Expression as Expression
    from heatsim.scenario.language.expressions.parser import ExpressionError as ExpressionError
    from heatsim.scenario.loading import load as load
    from heatsim.scenario.loading import load_again as load_again
    from heatsim.scenario.loading import loads as loads
    from heatsim.scenario.model import Scenario as Scenario
    from heatsim.scenario.model import find_losses as find_losses
    from heatsim.scenario.model import find_material_dependence as find_material_dependence
    from heatsim.scenario.model import find_temperature_dependence as find_temperature_dependence
    from heatsim.scenario.reference.schema import json_schema as json_schema
    from heatsim.scenario.reference.starter_template import starter as starter

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


def __getattr__(name: str) -> Any:
    """Import a public name where it is first used (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
