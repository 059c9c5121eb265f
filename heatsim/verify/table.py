"""How the outcomes of `heatsim verify` are shown: a table on the terminal and in Markdown, and JSON."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from heatsim.bench.report import Column, Row, markdown, print_table
from heatsim.verify.problem import Check
from heatsim.verify.verification import Outcome


def _digits(key: str) -> Column:
    def show(row: Row) -> str:
        return f"{row[key]:.6g}" if key in row else ""

    return Column(key, show)


def _short(key: str) -> Column:
    def show(row: Row) -> str:
        return f"{row[key]:.1e}" if key in row else ""

    return Column(key, show)


def _order(row: Row) -> str:
    return "" if row.get("order") is None else f"{row['order']:.2f}"


COLUMNS = (
    Column("problem", lambda row: str(row["problem"])),
    Column("quantity", lambda row: str(row.get("quantity", ""))),
    _digits("target"),
    _digits("result"),
    Column("unit", lambda row: str(row.get("unit", "")).replace("degC", "°C")),
    _short("error"),
    _short("allowed"),
    Column("order", _order),
    Column("verdict", lambda row: str(row["verdict"])),
)


def rows(outcomes: Sequence[Outcome]) -> list[Row]:
    """A row for each check, or one for a problem that was not judged."""
    return [row for outcome in outcomes for row in _rows(outcome)]


def _rows(outcome: Outcome) -> list[Row]:
    name = outcome.problem.name
    if not outcome.judgement.checks:
        failed = {"failed": True} if outcome.state == "failed" else {}
        verdict = "FAILED" if failed else f"needs {outcome.reason}"
        return [{"problem": name, "verdict": verdict, **failed}]
    return [{"problem": name, **_row(check)} for check in outcome.judgement.checks]


def _row(check: Check) -> Row:
    row: Row = {
        "quantity": check.quantity,
        "target": check.target,
        "result": check.result,
        "unit": check.unit,
        "error": check.error,
        "allowed": check.tolerance,
        "order": check.order,
        "verdict": "pass" if check.passed else "FAILED",
    }
    return row if check.passed else {**row, "failed": True}


def print_outcomes(outcomes: Sequence[Outcome]) -> None:
    """The table on stdout."""
    print_table(COLUMNS, rows(outcomes), group=lambda row: row["problem"])


def markdown_table(outcomes: Sequence[Outcome]) -> str:
    """The table in Markdown; the name of a problem stands on its first row only."""
    shown, last = [], ""
    for row in rows(outcomes):
        shown.append({**row, "problem": "" if row["problem"] == last else f"`{row['problem']}`"})
        last = row["problem"]
    return markdown(COLUMNS, shown)


def count(outcomes: Sequence[Outcome]) -> str:
    """ "17 passed, 0 failed, 5 need features that are not built yet"."""
    passed, failed, needing = (
        sum(outcome.state == state for outcome in outcomes) for state in ("passed", "failed", "needs")
    )
    verb = "needs" if needing == 1 else "need"
    return f"{passed} passed, {failed} failed" + (f", {needing} {verb} what is not there" if needing else "")


def as_json(outcomes: Sequence[Outcome], device: str, precision: str) -> dict[str, Any]:
    """All that was found, fit for JSON: what is not finite is null."""
    return {"device": device, "precision": precision, "problems": [_problem_json(outcome) for outcome in outcomes]}


def _problem_json(outcome: Outcome) -> dict[str, Any]:
    return {
        "name": outcome.problem.name,
        "title": outcome.title,
        "source": outcome.problem.source,
        "state": outcome.state,
        "reason": outcome.reason,
        "seconds": outcome.seconds,
        "checks": [_check_json(check) for check in outcome.judgement.checks],
    }


def _check_json(check: Check) -> dict[str, Any]:
    values = {**check._asdict(), "error": check.error, "passed": check.passed}
    return {name: finite_or_none(value) for name, value in values.items()}


def finite_or_none(value: Any) -> Any:
    """A value as JSON can say it."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
