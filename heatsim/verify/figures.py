"""The figures of `heatsim verify` and `heatsim converge`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from heatsim.plots.curves import draw_panels
from heatsim.verify.judging import error_panels
from heatsim.verify.problem import Panel
from heatsim.verify.verification import Outcome

if TYPE_CHECKING:
    from heatsim.verify.study import Kind, Study


def draw(path: Path, outcome: Outcome, device: str, precision: str) -> None:
    """The figure of a problem that was judged. Raises OSError."""
    verdict = "passed" if outcome.state == "passed" else "FAILED"
    _draw(path, outcome.judgement.panels, outcome.title, f"{verdict} on {device} in {precision}")


def draw_studies(path: Path, studies: Sequence[Study], file: str, unit: str, names: Mapping[Kind, str]) -> None:
    """Errors over spacings, a panel for each study that found any, with the line of the order found. Raises OSError."""
    panels: list[Panel] = []
    for found in studies:
        known = [row for row in found.rows if row.error is not None]
        spacings, errors = [row.spacing for row in known], [row.error or np.nan for row in known]
        panels += error_panels(spacings, errors, unit, round(found.order or 2.0, 2), names[found.kind])
    if panels:
        _draw(path, panels, f"Convergence of {file}", "")


def _draw(path: Path, panels: Sequence[Panel], title: str, subtitle: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    plain = [
        (panel.x_label, panel.y_label, [(each.name, each.x, each.y, each.line) for each in panel.curves], panel.log)
        for panel in panels
    ]
    draw_panels(path, plain, title=title, subtitle=subtitle)
