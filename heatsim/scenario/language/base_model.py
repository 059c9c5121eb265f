"""The base of every table of a scenario: frozen, no unknown keys, errors in our own words."""

from __future__ import annotations

import re
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator
from pydantic.fields import FieldInfo
from pydantic.functional_validators import ModelWrapValidatorHandler
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError

from heatsim.scenario.language.toml.messages import did_you_mean, found, one_of, validation_error

MAX_ERRORS = 100  # reported at once; the hundredth typing error of a generated file helps nobody


class ScenarioBlock(BaseModel):
    """One table of the scenario file."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    @model_validator(mode="wrap")
    @classmethod
    def _explain_errors(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        try:
            return handler(data)
        except ValidationError as error:
            details = error.errors(include_url=False)[:MAX_ERRORS]
            told = (_translate(one, cls) for one in details)
            lines: list[InitErrorDetails] = [{"type": kind, "loc": place, "input": None} for place, kind in told]
            raise ValidationError.from_exception_data(cls.__name__, lines) from None


def require_one_of(table: ScenarioBlock, **units: str) -> None:
    """Raise a validation error unless exactly one of some keys is given; `units`: the unit of each key, or ""."""
    given = [name for name in units if getattr(table, name) is not None]
    if len(given) != 1:
        *others, last = (f"{name} ({unit})" if unit else name for name, unit in units.items())
        found = "none" if not given else "both" if len(units) == 2 else " and ".join(given)
        raise validation_error(f"expected one of {', '.join(others)} and {last}, found {found}")


def form_tag(value: Any) -> str:
    """Return the form of a TOML value as a tag for a pydantic union: `<table>`, `<array>` or `<scalar>`."""
    if isinstance(value, (dict, BaseModel)):
        return "<table>"
    return "<array>" if isinstance(value, (list, tuple)) else "<scalar>"


def table_tag(value: Any) -> str:
    """Return the tag `<table>` or, of anything else, `<scalar>`, for a union of just these two."""
    return "<table>" if form_tag(value) == "<table>" else "<scalar>"


def kind_tag(value: Any) -> str:
    """Return the `kind` of a table as a tag, `<fixed>`, or `<>` without one; the brackets tell it from a key."""
    kind = value.get("kind") if isinstance(value, dict) else getattr(value, "kind", None)
    return f"<{kind}>" if isinstance(kind, str) else "<>"


def is_tag(part: str | int) -> bool:
    """Say whether a part of an error's place was put there by a union and is no key of the file."""
    return isinstance(part, str) and (part == "[key]" or re.fullmatch("<.*>", part) is not None)


def _translate(error: ErrorDetails, model: type[ScenarioBlock]) -> tuple[tuple[str | int, ...], PydanticCustomError]:
    """The place of an error of pydantic in a table of the file, and the error in our own words."""
    place, context, value = error["loc"], error.get("ctx", {}), error["input"]
    match error["type"]:
        case "flaw":
            return place, validation_error(context["message"], context["hint"])
        case "missing":
            field = _fields(model).get(str(place[0])) if len(place) == 1 else None
            return place, validation_error("missing", (field.description or "") if field else "")
        case "extra_forbidden":
            known = list(_fields(model))
            hint = did_you_mean(place[-1], known) or f"known here: {', '.join(known)}"
            return place, validation_error("unknown key", hint)
        case "literal_error":
            choices = re.findall("'([^']*)'", context["expected"])
            return place, _not_one_of(choices, value)
        case "union_tag_invalid":
            kinds = re.findall("<([^>]*)>", context["expected_tags"])
            if not isinstance(value, dict):
                return place, validation_error(
                    f"expected a table, found {found(value)}", f'such as {{ kind = "{kinds[0]}" }}'
                )
            if "kind" not in value:
                return (*place, "kind"), validation_error(f"expected {one_of(kinds)}, found none")
            return (*place, "kind"), _not_one_of(kinds, value["kind"])
        case "model_type" | "model_attributes_type" | "dict_type":
            return place, validation_error(f"expected a table, found {found(value)}")
        case "string_type":
            return place, validation_error(f"expected a string, found {found(value)}")
        case "tuple_type":
            return place, validation_error(f"expected an array, found {found(value)}")
        case "too_short":
            return place, validation_error(
                f"expected at least {context['min_length']}, found {context['actual_length']}"
            )
        case "too_long":
            count = context["actual_length"] or len(value)  # pydantic does not say it of a table
            return place, validation_error(f"expected at most {context['max_length']}, found {count}")
        case _:
            return place, validation_error(f"{error['msg']}, found {found(value)}")


def _fields(model: type[ScenarioBlock]) -> dict[str, FieldInfo]:
    """The fields of a table by their names in the file."""
    return {field.alias or name: field for name, field in model.model_fields.items()}


def _not_one_of(choices: list[str], value: Any) -> PydanticCustomError:
    message = f"expected {one_of(choices)}, found {found(value)}"
    return validation_error(message, did_you_mean(value, choices))
