"""From a TOML file to a `Scenario`, or to everything that is wrong with it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from heatsim.errors import Issue, ScenarioError
from heatsim.scenario.base_model import MAX_ERRORS, is_tag
from heatsim.scenario.checks.cross_block import run_checks
from heatsim.scenario.model import Scenario
from heatsim.scenario.toml.document import parse_document, read_text
from heatsim.scenario.toml.positions import SourcePositions
from heatsim.scenario.toml.scanner import Key
from heatsim.scenario.unsupported import Unsupported, find_unsupported
from heatsim.scenario.value_types import ValidationContext


def load(path: Path | str, overrides: Sequence[str] = ()) -> Scenario:
    """Read a scenario file.

    Args:
        path: a TOML file; relative file names in it are relative to its directory.
        overrides: "a.b.c=value" each, applied before validation; see `overrides.apply_overrides`.

    Raises:
        ScenarioError: with everything that is wrong, in the order of the file (at most MOST_ERRORS).
    """
    return loads(read_text(Path(path)), path, overrides)


def loads(text: str, path: Path | str | None = None, overrides: Sequence[str] = ()) -> Scenario:
    """Read a scenario from a text; `path` is where it came from, or "scenario" in messages. See `load`."""
    origin = None if path is None else Path(path)
    document = parse_document(text, origin, overrides)
    context = ValidationContext.from_document(document.data, origin.parent if origin else Path())
    unsupported = find_unsupported(document.data)
    flaws = [document.places.flaw(key, message) for key, message in unsupported]
    try:
        scenario = Scenario.model_validate(document.data, context=context)
    except ValidationError as error:
        details = error.errors(include_url=False)
        flaws += _flaws(details, document.data, document.places, unsupported)
    flaws += [document.places.flaw(*finding) for finding in run_checks(context.sections)]
    if flaws:
        in_order = sorted(flaws, key=lambda flaw: (flaw.line, flaw.column))
        raise ScenarioError(in_order[:MAX_ERRORS])
    scenario._positions = document.places
    return scenario


def _flaws(
    errors: Sequence[ErrorDetails], data: dict[str, Any], places: SourcePositions, unsupported: Sequence[Unsupported]
) -> list[Issue]:
    """Place pydantic's errors, but for those inside what is not supported anyway."""
    flaws = []
    for error in errors:
        key: Key = tuple(part for part in error["loc"] if not is_tag(part))
        if not any(key[: len(refused.key)] == refused.key for refused in unsupported):
            words = error.get("ctx", {})
            flaws.append(places.flaw(key, words["message"], words["hint"]))
    return flaws
