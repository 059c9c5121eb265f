"""The words of an error message: what was found, what was probably meant."""

from __future__ import annotations

import difflib
import json
import unicodedata
from collections.abc import Iterable

from pydantic_core import PydanticCustomError, ValidationError

MAX_QUOTED_CHARACTERS = 60  # characters of the user's own text that a message repeats
SYMBOLS = {
    "k": ("conductivity",),
    "lambda": ("conductivity",),
    "rho": ("density",),
    "c": ("heat_capacity",),
    "cp": ("heat_capacity",),
    "c_p": ("heat_capacity",),
    "specific_heat": ("heat_capacity",),
    "h": ("coefficient",),
    "htc": ("coefficient",),
    "R": ("resistance",),
    "T": ("temperature", "ambient"),
    "T0": ("temperature",),
    "T_inf": ("ambient",),
    "Tinf": ("ambient",),
    "eps": ("emissivity",),
    "epsilon": ("emissivity",),
    "q": ("flux", "power_density"),
    "Q": ("power",),
    "P": ("power",),
    "r_min": ("x_min",),
    "r_max": ("x_max",),
    "r": ("x", "radius"),
    "dt": ("step",),
    "t_end": ("end",),
    "L": ("heat", "size"),
}  # how engineers write what a key says in full


def validation_error(message: str, hint: str = "") -> PydanticCustomError:
    """Return the exception by which a validator refuses a value in our words rather than pydantic's."""
    return PydanticCustomError("flaw", "{message}", {"message": message, "hint": hint})


def validation_error_at(place: tuple[str | int, ...], message: str, hint: str = "") -> ValidationError:
    """Return that by which a validator of a table refuses a key inside."""
    return ValidationError.from_exception_data(
        "table", [{"type": validation_error(message, hint), "loc": place, "input": None}]
    )


def shorten(text: str) -> str:
    """Cut `text` to a length that fits in a message."""
    return text if len(text) <= MAX_QUOTED_CHARACTERS else text[: MAX_QUOTED_CHARACTERS - 3] + "..."


def quote(text: str) -> str:
    """Return `text` in double quotes with its control characters escaped, shortened."""
    return json.dumps(shorten(text), ensure_ascii=False)


def found(value: object) -> str:
    """Say what a TOML value is: `true`, `"abc"`, `-3.0`, `a table`, `an array of 2`."""
    match value:
        case bool():
            return str(value).lower()
        case str():
            return quote(value)
        case dict():
            return "a table"
        case list() | tuple():
            return f"an array of {len(value)}"
        case _:
            return shorten(str(value))


def name_character(character: str) -> tuple[str, str]:
    """Name a character beyond ASCII, and say what to write in place of one that looks like another."""
    name = f"U+{ord(character):04X} {unicodedata.name(character, '')}".strip()
    category = unicodedata.category(character)
    if category == "Pd" or character == "\N{MINUS SIGN}":
        return name, "write -"
    if category == "Zs":
        return name, "write a plain space"
    if category in ("Pi", "Pf"):
        return name, "write a plain quote"
    return name, ""


def one_of(choices: Iterable[str]) -> str:
    """Return `"a", "b" or "c"`."""
    quoted = [quote(choice) for choice in choices]
    return " or ".join([", ".join(quoted[:-1]), quoted[-1]] if len(quoted) > 1 else quoted)


def did_you_mean(word: object, known: Iterable[str]) -> str:
    """Return `did you mean "copper"?`, or nothing when no known word is near."""
    if not isinstance(word, str):
        return ""
    names = list(known)
    near = [name for name in SYMBOLS.get(word, ()) if name in names]
    near = near or difflib.get_close_matches(word[: 2 * MAX_QUOTED_CHARACTERS], names, n=1, cutoff=0.6)
    return f"did you mean {quote(near[0])}?" if near else ""


def with_guess(message: str, word: object, known: Iterable[str]) -> str:
    """Return the message, with `did you mean "copper"?` in brackets where a known word is near."""
    hint = did_you_mean(word, known)
    return f"{message} ({hint})" if hint else message
