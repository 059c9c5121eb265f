"""How the outcomes of `heatsim verify` are shown: a table on the terminal and in Markdown, and JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from heatsim.base.tables import Row, TableColumn, markdown, number, print_table, write_section
from heatsim.output.pictures.charts import draw_panels
from heatsim.output.pictures.curve import ComparisonPanel
from heatsim.studies.verification.judgement import ValueCheck, error_panels
from heatsim.studies.verification.problem_runs import ProblemOutcome

if TYPE_CHECKING:
    from heatsim.studies.verification.study import Refinement, Study


COLUMNS = (
    TableColumn("problem", lambda row: str(row["problem"])),
    TableColumn("quantity", lambda row: str(row.get("quantity", ""))),
    TableColumn("target", number("target", ".6g")),
    TableColumn("result", number("result", ".6g")),
    TableColumn("unit", lambda row: str(row.get("unit", "")).replace("degC", "°C")),
    TableColumn("error", number("error", ".1e")),
    TableColumn("allowed", number("tolerance", ".1e")),
    TableColumn("order", number("order", ".2f")),
    TableColumn("verdict", lambda row: str(row["verdict"])),
)


def rows(outcomes: Sequence[ProblemOutcome]) -> list[Row]:
    """A row for each check, or one for a problem that was not judged."""
    found: list[Row] = []
    for outcome in outcomes:
        name, failed = outcome.problem.name, {"verdict": "FAILED", "failed": True}
        if not outcome.judgement.checks:
            verdict = failed if outcome.state == "failed" else {"verdict": f"needs {outcome.reason}"}
            found.append({"problem": name, **verdict})
        for check in outcome.judgement.checks:
            verdict = {"verdict": "pass"} if check.passed else failed
            found.append({"problem": name, **check._asdict(), "error": check.error, **verdict})
    return found


def print_outcomes(outcomes: Sequence[ProblemOutcome]) -> None:
    """The table on stdout."""
    print_table(COLUMNS, rows(outcomes), group=lambda row: row["problem"])


def markdown_table(outcomes: Sequence[ProblemOutcome]) -> str:
    """The table in Markdown; the name of a problem stands on its first row only."""
    shown, last = [], ""
    for row in rows(outcomes):
        shown.append({**row, "problem": "" if row["problem"] == last else f"`{row['problem']}`"})
        last = row["problem"]
    return markdown(COLUMNS, shown)


def count_in_words(outcomes: Sequence[ProblemOutcome]) -> str:
    """ "17 passed, 0 failed, 5 need float64"."""
    passed, failed, needing = (
        sum(outcome.state == state for outcome in outcomes) for state in ("passed", "failed", "needs")
    )
    verb = "needs" if needing == 1 else "need"
    return f"{passed} passed, {failed} failed" + (f", {needing} {verb} float64" if needing else "")


def as_json(outcomes: Sequence[ProblemOutcome], device: str, precision: str) -> dict[str, Any]:
    """All that was found, fit for JSON: what is not finite is null."""
    problems = [
        {
            "name": outcome.problem.name,
            "title": outcome.title,
            "source": outcome.problem.source,
            "state": outcome.state,
            "reason": outcome.reason,
            "seconds": outcome.seconds,
            "checks": [_check_json(check) for check in outcome.judgement.checks],
        }
        for outcome in outcomes
    ]
    return {"device": device, "precision": precision, "problems": problems}


def _check_json(check: ValueCheck) -> dict[str, Any]:
    values = {**check._asdict(), "error": check.error, "passed": check.passed}
    return {
        name: None if isinstance(each, float) and not math.isfinite(each) else each for name, each in values.items()
    }


# The figures of `heatsim verify` and `heatsim converge`.


def draw_outcome(path: Path, outcome: ProblemOutcome, device: str, precision: str) -> None:
    """The figure of a problem that was judged. Raises OSError."""
    verdict = "passed" if outcome.state == "passed" else "FAILED"
    _draw(path, outcome.judgement.panels, outcome.title, f"{verdict} on {device} in {precision}")


def draw_studies(path: Path, studies: Sequence[Study], file: str, unit: str, names: Mapping[Refinement, str]) -> None:
    """Errors over spacings, a panel for each study that found any, with the line of the order found. Raises OSError."""
    panels: list[ComparisonPanel] = []
    for found in studies:
        known = [row for row in found.rows if row.error is not None]
        spacings, errors = [row.spacing for row in known], [row.error or np.nan for row in known]
        panels += error_panels(spacings, errors, unit, round(found.order or 2.0, 2), names[found.kind])
    if panels:
        _draw(path, panels, f"Convergence of {file}", "")


def _draw(path: Path, panels: Sequence[ComparisonPanel], title: str, subtitle: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    draw_panels(path, panels, title=title, subtitle=subtitle)


# docs/reports/verification.md: the table of each device and precision, and the figures, each between markers.


NAME = "heatsim verify"
IMAGES = Path("images") / "verify"


def write_document(
    path: Path, outcomes: Sequence[ProblemOutcome], command: str, device: str, precision: str, about: str
) -> None:
    """Put the table, in place of the last one of this device, and the figures into a document. Raises OSError."""
    parts = [f"### {device}, {precision}", f"    {command}", about, markdown_table(outcomes)]
    parts += [f"{count_in_words(outcomes).capitalize()}."]
    write_section(path, NAME, f"{device}, {precision}", "\n\n".join(parts))
    drawn = [outcome for outcome in outcomes if outcome.judgement.panels]
    for outcome in drawn:
        draw_outcome(path.parent / IMAGES / f"{outcome.problem.name}.png", outcome, device, precision)
    lines = [f"## Figures\n\nDrawn by the run on {device} in {precision}."]
    lines += [_caption(outcome) for outcome in drawn]
    write_section(path, f"{NAME} figures", "all", "\n\n".join(lines))


def _caption(outcome: ProblemOutcome) -> str:
    name = outcome.problem.name
    file = f"../../scenarios/verify/{name}.toml"
    image = f"![{name}]({(IMAGES / name).as_posix()}.png)"
    return f"[{name}]({file}): {outcome.title}\n\n{image}"
