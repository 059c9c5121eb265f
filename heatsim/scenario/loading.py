"""From a TOML file to a `Scenario`, or to everything that is wrong with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from heatsim.errors import RequestError, ScenarioError
from heatsim.scenario.checks.cross_block import run_checks
from heatsim.scenario.language.base_model import MAX_ERRORS, is_tag
from heatsim.scenario.language.toml.document import parse_document, read_text
from heatsim.scenario.language.toml.positions import Key, ScenarioOrigin
from heatsim.scenario.language.value_types import ValidationContext
from heatsim.scenario.material_library import chosen_materials, find_in_library, find_library_materials, library
from heatsim.scenario.model import Scenario
from heatsim.scenario.parameters import substitute_parameters
from heatsim.scenario.quantity import find_quantity, in_keys_of_heat


def load(path: Path | str, overrides: Sequence[str] = (), *, trust: bool = False) -> Scenario:
    """Read a scenario file.

    Args:
        path: a TOML file; relative file names in it are relative to its directory.
        overrides: "a.b.c=value" each, applied before validation; see `toml.document.apply_overrides`.
        trust: whether it may name files outside its directory.

    Raises:
        ScenarioError: with everything that is wrong, in the order of the file (at most MAX_ERRORS).
    """
    return loads(read_text(Path(path)), path, overrides, trust=trust)


def loads(text: str, path: Path | str | None = None, overrides: Sequence[str] = (), *, trust: bool = True) -> Scenario:
    """Read a scenario from a text; `path` is where it came from, or "scenario" in messages. See `load`."""
    origin = None if path is None else Path(path)
    document = parse_document(text, origin, overrides)
    data, wrong = substitute_parameters(document.data)
    quantity = find_quantity(data)
    data, mistaken = in_keys_of_heat(data, quantity)
    positions = replace(document.positions, quantity=quantity)
    heat = quantity.is_temperature  # the library knows nothing of others
    tables = (data.get("materials"), data.get("ambients"))
    context = ValidationContext(
        origin.parent if origin else Path(),
        quantity,
        frozenset(name for table in tables if isinstance(table, dict) for name in table),
        library if heat else tuple,
        find_in_library if heat else lambda name: None,
        frozenset(find_library_materials(data) if heat else ()),
        trusted=trust,
    )
    issues = [document.positions.issue_at(*finding) for finding in (*wrong, *mistaken)]
    try:
        scenario = Scenario.model_validate(data, context=context)
    except ValidationError as error:
        for each in _without_consequences(error.errors(include_url=False)):
            key: Key = tuple(part for part in each["loc"] if not is_tag(part))
            words = each.get("ctx", {})
            issues.append(positions.issue_at(key, words["message"], words["hint"]))
    issues += [positions.issue_at(*finding) for finding in run_checks(context.sections)]
    if issues:
        in_order = sorted(issues, key=lambda issue: (issue.line, issue.column))
        raise ScenarioError(in_order[:MAX_ERRORS])
    scenario._positions = positions
    chosen = chosen_materials(data) if heat else []
    scenario._origin = ScenarioOrigin(text, origin, tuple(overrides), trust, tuple(chosen))
    return scenario


def load_again(scenario: Scenario, overrides: Sequence[str]) -> Scenario:
    """The scenario with more overrides, after those that it was loaded with.

    It is made of the text that `load` read, whatever the file says by now; a scenario that was changed since, of what
    it has become, where parameters have no place any more. Raises `ScenarioError`, and `RequestError` for these.
    """
    origin = scenario._origin
    if origin.text is not None:
        again = loads(origin.text, origin.path, origin.overrides, trust=origin.trust)
        if again == scenario:
            return loads(origin.text, origin.path, [*origin.overrides, *overrides], trust=origin.trust)
    named = [override for override in overrides if override.startswith("parameters.")]
    if named:
        name = named[0].partition("=")[0].removeprefix("parameters.")
        raise RequestError(f"{name}: a scenario that was changed after load has no parameters left: name a key")
    return loads(scenario.to_toml(), scenario.path, overrides)


def _without_consequences(errors: Sequence[ErrorDetails]) -> list[ErrorDetails]:
    """Without that materials are missing, where the names in regions are wrong, by which they come from the library."""
    named = any(error["loc"][:1] == ("regions",) and error["loc"][-1:] in (("material",),) for error in errors)
    return [error for error in errors if not (named and error["loc"] == ("materials",))]
