"""What changes in time, read from a scenario: numbers, expressions, CSV columns and traces, as functions of t."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import erf

NAMES: dict[str, Any] = {
    "pi": np.pi, "sin": np.sin, "cos": np.cos, "tan": np.tan, "exp": np.exp, "log": np.log, "sqrt": np.sqrt,
    "abs": np.abs, "tanh": np.tanh, "erf": erf, "floor": np.floor, "where": np.where,
    "min": lambda *each: np.minimum.reduce(np.broadcast_arrays(*each)),
    "max": lambda *each: np.maximum.reduce(np.broadcast_arrays(*each)),
    "step": lambda u: np.where(np.asarray(u) >= 0, 1.0, 0.0),
}  # fmt: skip


def compiled(text: str) -> Callable[..., Any]:
    """An expression of a scenario as a function of its names, which are given by keyword."""
    code = compile(text, "expression", "eval")

    def value(**names: Any) -> Any:
        return eval(code, {"__builtins__": {}}, {**NAMES, **names})

    return value


class Input:
    """A value that may be a number, an expression in t (and T), or a CSV column; `folder` has the files."""

    def __init__(self, given: Any, folder: Path) -> None:
        self.follows = isinstance(given, str) and "T" in given
        if isinstance(given, dict):
            times, values = read_columns(folder / given["file"], ("time", given["column"]))
            self._at: Callable[..., Any] = lambda t, **_: np.interp(t, times, values)
        elif isinstance(given, str):
            expression = compiled(given)
            self._at = lambda t, **names: expression(t=t, **names)
        else:
            self._at = lambda t, **_: float(given)

    def __call__(self, t: float, **names: Any) -> Any:
        return self._at(t, **names)


def trace(file: Path) -> Callable[[float], float]:
    """The power of a trace: straight lines between its rows, nothing outside."""
    times, values = read_columns(file, ("time", "power"))
    return lambda t: float(np.interp(t, times, values, left=0.0, right=0.0))


def read_columns(file: Path, names: tuple[str, str]) -> tuple[np.ndarray, np.ndarray]:
    with file.open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    return tuple(np.array([float(row[name]) for row in rows]) for name in names)  # type: ignore[return-value]
