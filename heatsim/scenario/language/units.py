"""Numbers with a unit, such as "2 mm", "1 h", "25 degC" and "5 W/(m K)", and what they are in the unit of a key.

A unit is a product of powers of the units below. A space or `*` multiplies, `/` divides by the one factor after it, and
powers are whole numbers: `m2`, `m^2` or `m**2`. Numbers are converted exactly, and rounded once.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import cache
from typing import NamedTuple

from heatsim.scenario.language.toml.messages import did_you_mean, quote

Dimension = tuple[int, int, int, int, int]  # powers of m, kg, s, K, mol


class Unit(NamedTuple):
    """A unit as a multiple of a product of powers of m, kg, s, K and mol; at its zero stands `zero` (K)."""

    factor: Fraction
    dimension: Dimension
    zero: Fraction = Fraction(0)


class UnitError(ValueError):
    """A unit is not known or does not fit; with a hint."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


def _unit(factor: str, *dimension: int) -> Unit:
    m, kg, s, K, mol = dimension
    return Unit(Fraction(factor), (m, kg, s, K, mol))


_ONE = _unit("1", 0, 0, 0, 0, 0)
WITH_PREFIX = {
    "m": _unit("1", 1, 0, 0, 0, 0),
    "g": _unit("1e-3", 0, 1, 0, 0, 0),
    "s": _unit("1", 0, 0, 1, 0, 0),
    "K": _unit("1", 0, 0, 0, 1, 0),
    "mol": _unit("1", 0, 0, 0, 0, 1),
    "Hz": _unit("1", 0, 0, -1, 0, 0),
    "N": _unit("1", 1, 1, -2, 0, 0),
    "Pa": _unit("1", -1, 1, -2, 0, 0),
    "J": _unit("1", 2, 1, -2, 0, 0),
    "W": _unit("1", 2, 1, -3, 0, 0),
    "L": _unit("1e-3", 3, 0, 0, 0, 0),
    "l": _unit("1e-3", 3, 0, 0, 0, 0),
    "cal": _unit("4.184", 2, 1, -2, 0, 0),  # thermochemical
    "Wh": _unit("3600", 2, 1, -2, 0, 0),
}
_PREFIXES = {"f": "1e-15", "p": "1e-12", "n": "1e-9", "u": "1e-6", "m": "1e-3", "c": "1e-2", "d": "1e-1"} | {
    "h": "1e2",
    "k": "1e3",
    "M": "1e6",
    "G": "1e9",
    "T": "1e12",
}
ALONE = {
    "min": _unit("60", 0, 0, 1, 0, 0),
    "h": _unit("3600", 0, 0, 1, 0, 0),
    "d": _unit("86400", 0, 0, 1, 0, 0),
    "week": _unit("604800", 0, 0, 1, 0, 0),
    "year": _unit("31557600", 0, 0, 1, 0, 0),  # of 365.25 days
    "in": _unit("0.0254", 1, 0, 0, 0, 0),
    "ft": _unit("0.3048", 1, 0, 0, 0, 0),
    "t": _unit("1e3", 0, 1, 0, 0, 0),
    "lb": _unit("0.45359237", 0, 1, 0, 0, 0),
    "Btu": _unit("1055.05585262", 2, 1, -2, 0, 0),  # of the International Table
    "bar": _unit("1e5", -1, 1, -2, 0, 0),
    "degC": Unit(Fraction(1), (0, 0, 0, 1, 0), Fraction("273.15")),
    "degF": Unit(Fraction(5, 9), (0, 0, 0, 1, 0), Fraction("459.67") * Fraction(5, 9)),
    "%": _unit("0.01", 0, 0, 0, 0, 0),
    "ppm": _unit("1e-6", 0, 0, 0, 0, 0),
    "rad": _ONE,
    "deg": Unit(Fraction("0.017453292519943295769"), _ONE.dimension),
    "1": _ONE,
}
_OTHER_NAMES = {
    **dict.fromkeys(("second", "seconds", "sec"), "s"),
    **dict.fromkeys(("minute", "minutes"), "min"),
    **dict.fromkeys(("hour", "hours", "hr"), "h"),
    **dict.fromkeys(("day", "days"), "d"),
    "weeks": "week",
    **dict.fromkeys(("years", "yr"), "year"),
    **dict.fromkeys(("°C", "celsius", "Celsius"), "degC"),
    **dict.fromkeys(("°F", "fahrenheit", "Fahrenheit"), "degF"),
    **dict.fromkeys(("kelvin", "Kelvin"), "K"),
    "°": "deg",
    "inch": "in",
    "micron": "um",
}
_MEASURES: dict[Dimension, str] = {
    (1, 0, 0, 0, 0): "a length",
    (2, 0, 0, 0, 0): "an area",
    (3, 0, 0, 0, 0): "a volume",
    (0, 1, 0, 0, 0): "a mass",
    (0, 0, 1, 0, 0): "a time",
    (0, 0, 0, 1, 0): "a temperature",
    (0, 0, 0, 0, 1): "an amount",
    (1, 1, -2, 0, 0): "a force",
    (-1, 1, -2, 0, 0): "a pressure",
    (2, 1, -2, 0, 0): "an energy",
    (2, 1, -3, 0, 0): "a power",
    (-3, 1, 0, 0, 0): "a density",
    (0, 1, -3, 0, 0): "a heat flux",
    (-1, 1, -3, 0, 0): "a power density",
    (1, 1, -3, -1, 0): "a conductivity",
    (0, 1, -3, -1, 0): "a heat transfer coefficient",
    (0, -1, 3, 1, 0): "a thermal resistance of an area",
    (2, 0, -2, -1, 0): "a heat capacity",
    (2, 0, -2, 0, 0): "an energy a mass",
    (2, 0, -1, 0, 0): "a diffusivity",
    (0, 0, 0, 0, 0): "a pure number",
}

# Digits and exponent are bounded, since a fraction of 10**999999 is a number of as many digits.
_QUANTITY = re.compile(
    r"\s*([+-]?(?:\d{1,40}(?:\.\d{0,40})?|\.\d{1,40})(?:[eE][+-]?\d{1,3})?+)\s*([^\W\d_].*|[%°].*)", re.DOTALL
)
_TOKEN = re.compile(r"\s*(?:([^\W\d_]+|[%°][A-Z]?|1(?!\d))(?:(?:\^|\*\*)?(-?\d{1,2}))?|([*/()]))")
_SUPERSCRIPTS = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹·µμ", "-0123456789*uu")
_KEYWORDS = frozenset({"if", "and", "or", "not", "else"})


def split_quantity(text: str) -> tuple[str, str] | None:
    """The number and the unit of a text such as "2 mm"; None of any other text, an expression among them."""
    match = _QUANTITY.fullmatch(text)
    if match is None or match[2].split()[0] in _KEYWORDS:
        return None
    return match[1], match[2].strip()


def convert(number: str, unit: str, wanted: str, absolute: bool = False) -> float:
    """A number of some unit in the unit `wanted`.

    absolute: whether it is a temperature, for which degC and degF have a zero of their own, and no difference of two.

    Raises:
        UnitError: the unit is not known, or measures something else.
    """
    given = parse_unit(unit)
    try:
        target = parse_unit(wanted)
    except UnitError:  # words that say what a pure number is a share of
        target = _ONE
    if given.dimension != target.dimension:
        found = _MEASURES.get(given.dimension)
        raise UnitError(f"{quote(unit)} is {found}" if found else f"{quote(unit)} does not fit {wanted}")
    value = Fraction(number) * given.factor
    if absolute:
        value += given.zero - target.zero
    elif given.zero:
        raise UnitError("a difference of temperatures is in K")
    return to_float(value / target.factor)


def to_float(value: Fraction) -> float:
    """The nearest float. Raises `UnitError` for a number beyond all floats."""
    try:
        return float(value)
    except OverflowError:
        raise UnitError("the number is too large; at most 1.8e308") from None


def in_unit(value: object, wanted: str) -> object:
    """A value as a number in the unit `wanted` where it is one with a unit that fits; any other value as it is."""
    parts = split_quantity(value) if isinstance(value, str) else None
    if parts is None:
        return value
    try:
        return convert(*parts, wanted)
    except UnitError:
        return value


def is_unit(text: str) -> bool:
    """Whether a text names a unit."""
    try:
        parse_unit(text)
    except UnitError:
        return False
    return True


@cache
def parse_unit(text: str) -> Unit:
    """The unit that a text such as "W/(m2 K)" names. Raises `UnitError` if it is none."""
    tokens = list(_tokens(text.translate(_SUPERSCRIPTS), text))
    unit = _product(tokens, text)
    if tokens:
        raise UnitError(f"{quote(text)} is no unit")
    return unit


def _tokens(text: str, whole: str) -> list[str | Unit]:
    found: list[str | Unit] = []
    place, single = 0, len(_TOKEN.findall(text)) == 1
    text = text.strip()
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            raise UnitError(f"{quote(whole)} is no unit")
        name, power, sign = match.groups()
        if sign:
            found.append(sign)
        else:
            unit = _named(name, whole)
            found.append(unit if single and not power else _power(unit, int(power or 1)))
        place = match.end()
    return found


def _product(tokens: list[str | Unit], text: str) -> Unit:
    """Factors up to the end or a closing bracket, which are taken off the front of `tokens`."""
    unit, divided = _factor(tokens, text), False
    while tokens and tokens[0] != ")":
        sign = tokens.pop(0) if tokens[0] in ("*", "/") else "*"
        if divided and sign == "*":
            raise UnitError(f"{quote(text)} may mean two units: put what divides in brackets, as in W/(m K)")
        divided = sign == "/"
        factor = _factor(tokens, text)
        unit = _times(unit, _power(factor, -1) if divided else factor)
    return unit


def _factor(tokens: list[str | Unit], text: str) -> Unit:
    token = tokens.pop(0) if tokens else ")"
    if isinstance(token, Unit):
        return token
    if token != "(":
        raise UnitError(f"{quote(text)} is no unit")
    unit = _product(tokens, text)
    if not tokens or tokens.pop(0) != ")":
        raise UnitError(f"{quote(text)} is no unit")
    return unit


def _named(name: str, text: str) -> Unit:
    name = _OTHER_NAMES.get(name, name)
    if name in ALONE:
        return ALONE[name]
    if name in WITH_PREFIX:
        return WITH_PREFIX[name]
    prefix, base = name[:1], name[1:]
    if prefix in _PREFIXES and base in WITH_PREFIX:
        return Unit(Fraction(_PREFIXES[prefix]) * WITH_PREFIX[base].factor, WITH_PREFIX[base].dimension)
    common = ("m", "mm", "um", "cm", "km", "kg", "g", "s", "ms", "us", "W", "mW", "kW", "J", "kJ", "MJ", "mol")
    hint = did_you_mean(name, [*common, *ALONE, *_OTHER_NAMES, *WITH_PREFIX])
    raise UnitError(f"{quote(name)} is no unit" + (f"; {hint}" if hint else ""))


def _times(a: Unit, b: Unit) -> Unit:
    m, kg, s, K, mol = (i + j for i, j in zip(a.dimension, b.dimension, strict=True))
    return Unit(a.factor * b.factor, (m, kg, s, K, mol))


def _power(unit: Unit, power: int) -> Unit:
    m, kg, s, K, mol = (power * i for i in unit.dimension)
    return Unit(unit.factor**power, (m, kg, s, K, mol))
