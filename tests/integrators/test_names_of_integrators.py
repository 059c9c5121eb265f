"""An integrator carries its own facts: no module outside `heatsim.solve.integrators` compares its name."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from helpers.in_turn import in_turn

from heatsim.base.methods import METHODS
from heatsim.solve.integrators import INTEGRATORS
from heatsim.solve.integrators.tableaus import SCHEMES

SOURCES = Path(__file__).parents[2] / "heatsim"


def is_name(node: ast.AST) -> bool:
    """Whether a constant, a tuple, list or set of constants, or the pattern of a case holds the name of one."""
    return any(isinstance(part, ast.Constant) and part.value in INTEGRATORS for part in ast.walk(node))


def comparisons(source: str) -> Iterator[int]:
    """The lines in which a name of an integrator is compared, matched, or looked up in a literal table."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Compare() if is_name(node):
                yield node.lineno
            case ast.match_case(pattern=pattern) if is_name(pattern):
                yield pattern.lineno
            case ast.Dict(keys=keys) if any(key is not None and is_name(key) for key in keys):
                yield node.lineno
            case ast.Subscript(slice=index) if is_name(index):
                yield node.lineno


def test_no_module_elsewhere_compares_the_name_of_an_integrator() -> None:
    found = [
        f"{path.relative_to(SOURCES)}:{line}"
        for path in sorted(SOURCES.rglob("*.py"))
        if path.relative_to(SOURCES).parts[0] not in ("integrators", "methods.py")
        for line in comparisons(path.read_text(encoding="utf-8"))
    ]
    assert not found, "\n".join(found)


@in_turn(
    "planted",
    [
        'steady = scenario.time.integrator == "steady"',
        'if name in ("auto", "euler"): pass',
        'while "rkl2" != name: pass',
        'match data:\n    case {"integrator": "implicit"}: pass',
        'TOLERANCES = {"euler": None, "rkl2": 1e-3}',
        'cost = costs["implicit"]',
    ],
)
def test_a_planted_comparison_is_found(planted: str) -> None:
    assert len(list(comparisons(planted))) == 1


@in_turn("allowed", ["hint = 'integrator = \"euler\"'", 'if name == "auto": pass', 'make("euler")'])
def test_what_only_names_an_integrator_is_let_pass(allowed: str) -> None:
    assert not list(comparisons(allowed))


def test_each_integrator_stands_under_its_own_name() -> None:
    assert [each.name for each in INTEGRATORS.values()] == list(INTEGRATORS) == list(METHODS)
    assert METHODS["implicit"].schemes == tuple(SCHEMES)
