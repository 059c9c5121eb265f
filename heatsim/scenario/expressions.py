"""Formulas that a scenario may hold, such as "293.15 + 5*sin(2*pi*t/60)", safe to take from a stranger.

The text is parsed, never evaluated: an allowlist rebuilds it as a small tree of our own (expression_parser),
and only that tree is computed (expression_forms) or taken apart (separation).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heatsim.scenario.expression_forms import evaluate, scalar_source
from heatsim.scenario.expression_nodes import VARIABLES, Node, Variable, comparisons, to_text, variables
from heatsim.scenario.expression_parser import ExpressionError, parse
from heatsim.scenario.separation import separate

__all__ = ["Expression", "ExpressionError"]


class Expression:
    """A formula in some of the variables x, y, z (m), t (s) and T (temperature); made by `Expression.parse`.

    Two expressions are equal when their text and their allowed variables are.

    Conditions are numbers: a comparison, `and`, `or` and `not` give 1 or 0, and what is not 0 is true, NaN
    included. step(u) is 0 for u < 0 and 1 for u >= 0. A NaN operand of min, max or step gives NaN.

    Attributes:
        text: the formula as written.
        allowed: the variables it might have used.
        names: the variables it uses.
    """

    __slots__ = ("_tree", "allowed", "names", "text")

    def __init__(self, text: str, allowed: frozenset[str], tree: Node) -> None:
        self.text = text
        self.allowed = allowed
        self.names = variables(tree)
        self._tree = tree

    @classmethod
    def parse(cls, text: str, allowed: frozenset[str]) -> Expression:
        """The expression that `text` writes, in variables out of `allowed`.

        Raises:
            ExpressionError: with the offset in the text (from 0) of what is not allowed or does not parse.
        """
        return cls(text, allowed, parse(text, allowed))

    def __call__(self, **values: ArrayLike) -> NDArray[np.float64]:
        """The value in float64, of the shape to which the variables in use broadcast (0-d for scalars).

        Values of variables not in use are ignored. Both branches of a condition are computed. Where the
        formula has no finite value (1/0, log(-1), overflow) the result is inf or NaN, without a warning.

        Raises:
            TypeError: a variable in use has no value.
        """
        self._check_given(frozenset(values))
        arrays = {name: np.asarray(values[name], dtype=np.float64) for name in self.names}
        with np.errstate(all="ignore"):
            result = np.asarray(evaluate(self._tree, arrays), dtype=np.float64)
        return result.copy() if isinstance(self._tree, Variable) else result  # never the caller's own array

    def function(self, *arguments: str) -> Callable[..., Any]:
        """A plain Python function of scalars in this order, which `numba.njit` and `numba.cuda.jit` compile.

        Compile with `error_model="numpy"`, else x/0 raises as in Python (CUDA has that model already). Called
        uncompiled it raises what Python does (ZeroDivisionError, ValueError, OverflowError), but never from a
        branch that is not chosen. Pass float64: float32 arguments are computed in float32 up to the first
        literal. The function has no source file, so Numba cannot cache it on disk.

        Args:
            arguments: x, y, z, t or T, covering `names`; those not in use are ignored.

        Raises:
            TypeError: a variable in use is not among the arguments, or an argument is no variable.
        """
        self._check_given(frozenset(arguments))
        unknown = set(arguments) - VARIABLES
        if unknown:
            raise TypeError(f"not variables of an expression: {', '.join(sorted(unknown))}")
        source = scalar_source(self._tree, "expression", arguments)
        namespace: dict[str, Any] = {"math": math}
        exec(compile(source, "<expression>", "exec"), namespace)  # our source, nothing of the user's text
        function: Callable[..., Any] = namespace["expression"]
        return function

    def split_time(self) -> list[tuple[Expression | None, Expression | None]] | None:
        """The expression as a sum of at most 16 products space(x, y, z) * time(t), a factor of 1 being None.

        Found by distributing over + - *, and / by a single product; no two terms have the same time factor.
        The sum rounds like its largest term, which may exceed the value. None where some part mixes space and
        time, as in sin(x - t), or where T occurs.
        """
        terms = None if "T" in self.names else separate(self._tree, "t")
        if terms is None:
            return None
        return [(self._part(space), self._part(time)) for space, time in terms]

    def split_temperature(self) -> tuple[Expression | None, Expression | None] | None:
        """The expression as one product of what does not depend on T and what depends on nothing else, a factor of 1
        being None. Found as by `split_time`; None if it is no such product."""
        terms = separate(self._tree, "T")
        if terms is None or len(terms) > 1:
            return None
        [(others, of_temperature)] = terms
        return self._part(others), self._part(of_temperature)

    def comparisons(self) -> list[tuple[Expression, Expression]]:
        """Each comparison of two values in the expression, wherever it stands, and the first value less the second."""
        return [(self._of(truth), self._of(difference)) for truth, difference in comparisons(self._tree)]

    def _part(self, factor: Node | None) -> Expression | None:
        return None if factor is None else self._of(factor)

    def _of(self, tree: Node) -> Expression:
        return Expression(to_text(tree), self.allowed, tree)

    def _check_given(self, given: frozenset[str]) -> None:
        missing = self.names - given
        if missing:
            raise TypeError(f"{self.text!r} needs {', '.join(sorted(missing))}")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Expression):
            return NotImplemented
        return self.text == other.text and self.allowed == other.allowed

    def __hash__(self) -> int:
        return hash((self.text, self.allowed))

    def __repr__(self) -> str:
        return f"Expression({self.text!r})"
