"""Lengths, times and units as a person would write them."""

from __future__ import annotations

import re
from math import floor, isinf, log10

_LENGTHS = ((1.0, "m"), (1e-3, "mm"), (1e-6, "µm"), (1e-9, "nm"))
_TIMES = ((86400.0, "d"), (3600.0, "h"), (60.0, "min"), (1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))

_PREFIXES = {-9: "n", -6: "µ", -3: "m", 3: "k", 6: "M", 9: "G", 12: "T"}
_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def length_unit(span: float) -> tuple[float, str]:
    """Unit in which a picture `span` metres across has handy numbers: its size in m, and its symbol."""
    return _unit(span, _LENGTHS, least=0.5)


def time_unit(span: float) -> tuple[float, str]:
    """Unit in which times up to `span` s have handy numbers: its size in s, and its symbol."""
    return _unit(span or 1.0, _TIMES, least=3.0 if span >= 60.0 else 1.0)


def scaled_unit(largest: float, unit: str) -> tuple[float, str]:
    """Unit in which values up to `largest` have handy numbers: its size, and its symbol, such as kJ or 10⁶ W/m²."""
    symbol = unit_symbol(unit)
    if not (largest >= 1e4 or 0 < largest < 1e-2):
        return 1.0, symbol
    power = 3 * floor(log10(largest) / 3)
    if symbol in ("J", "W", "s") and power in _PREFIXES:
        return 10.0**power, _PREFIXES[power] + symbol
    raised = str(power).replace("-", "⁻").translate(_RAISED)
    return 10.0**power, f"10{raised} {symbol}".rstrip()


def format_length(metres: float) -> str:
    """A length with its unit: 0.005 -> "5 mm"."""
    return _format(metres, length_unit(abs(metres) or 1.0))


def format_time(seconds: float, whole: float | None = None) -> str:
    """A time with its unit, the one that suits the time `whole` (s) so that it stays the same over a run."""
    if isinf(seconds):
        return "∞"
    span = abs(seconds if whole is None else whole)
    return _format(seconds, time_unit(span))


def axis_symbol(axis: str, coordinates: str = "cartesian") -> str:
    """An axis "x", "y" or "z" as printed: r, φ, z in cylindrical coordinates."""
    return {"x": "r", "y": "φ"}.get(axis, axis) if coordinates == "cylindrical" else axis


def unit_symbol(unit: str) -> str:
    """A unit as printed: the CF names "degC" and "1" become "°C" and nothing, "W m-2" becomes "W/m²"."""
    named = {"degC": "°C", "1": ""}.get(unit)
    if named is not None:
        return named
    if not unit.isascii() or "/" in unit:  # as a person writes it, but for its powers
        return re.sub(r"(?<=[A-Za-z])\d+", lambda power: power[0].translate(_RAISED), unit)
    above, below = list[str](), list[str]()
    for part in unit.split(" "):
        base = part.rstrip("-0123456789")
        power = part[len(base) :]
        (below if power.startswith("-") else above).append(
            base + power.lstrip("-").translate(_RAISED).removeprefix("¹")
        )
    return "·".join(above or ["1"]) + (f"/{'·'.join(below)}" if below else "")


def value_label(quantity: str, unit: str) -> str:
    """Label of a scale: the quantity, and its unit if it has one."""
    symbol = unit_symbol(unit)
    return f"{quantity} ({symbol})" if symbol else quantity


def widen(limits: tuple[float, float]) -> tuple[float, float]:
    """The limits of a scale, spread where they are nearly equal: a constant field gets the middle colour.

    A difference below one part in 10^6 is rounding in float32, which is no structure to show.
    """
    low, high = limits
    least = 1e-6 * max(abs(low), abs(high))
    if high - low > least:
        return low, high
    half = 0.5 if least < 0.5 else least
    middle = 0.5 * (low + high)
    return middle - half, middle + half


def _unit(span: float, units: tuple[tuple[float, str], ...], least: float) -> tuple[float, str]:
    # The small excess lets 1e-3 * 0.5 count as half a millimetre in spite of rounding.
    return next((unit for unit in units if span * (1 + 1e-9) >= least * unit[0]), units[-1])


def _format(value: float, unit: tuple[float, str]) -> str:
    # Adding 0.0 turns -0.0 into 0.0.
    return f"{value / unit[0] + 0.0:.5g} {unit[1]}"
