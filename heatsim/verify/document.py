"""docs/verification.md: the table of each device and precision, and the figures, each between markers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from heatsim.bench.report import write_section
from heatsim.verify import figures, table
from heatsim.verify.verification import Outcome

NAME = "heatsim verify"
IMAGES = Path("images") / "verify"


def write(path: Path, outcomes: Sequence[Outcome], command: str, device: str, precision: str, about: str) -> None:
    """Put the table, in place of the last one of this device, and the figures into a document. Raises OSError."""
    parts = [f"### {device}, {precision}", f"    {command}", about, table.markdown_table(outcomes)]
    parts += [f"{table.count(outcomes).capitalize()}."]
    write_section(path, NAME, f"{device}, {precision}", "\n\n".join(parts))
    drawn = [outcome for outcome in outcomes if outcome.judgement.panels]
    for outcome in drawn:
        figures.draw(path.parent / IMAGES / f"{outcome.problem.name}.png", outcome, device, precision)
    lines = [f"## Figures\n\nDrawn by the run on {device} in {precision}."]
    lines += [_caption(outcome) for outcome in drawn]
    write_section(path, f"{NAME} figures", "all", "\n\n".join(lines))


def _caption(outcome: Outcome) -> str:
    name = outcome.problem.name
    file = f"../scenarios/verify/{name}.toml"
    image = f"![{outcome.title}]({(IMAGES / name).as_posix()}.png)"
    return f"**[{name}]({file})** {outcome.title}. Source: {outcome.problem.source}.\n\n{image}"
