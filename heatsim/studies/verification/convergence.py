"""`heatsim converge` as the command line calls it."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import asdict
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heatsim.base.tables import Row, TableColumn, Tell, check_folders, number, print_table
from heatsim.scenario import Expression, ExpressionError, load_again
from heatsim.studies.verification.finished import FinishedRun
from heatsim.studies.verification.refinement import RefinementLevel, fix_integrator, overrides, require_refinable
from heatsim.studies.verification.study import FACTOR, Refinement, Sought, Study, StudyError, study

if TYPE_CHECKING:
    from heatsim.scenario import Scenario

LEVELS, LEVELS_IN_3D = 4, 3
IMPLICIT_STEPS = 8  # on the coarsest level of a step study, where the scenario names no step
NAMES: dict[Refinement, str] = {"grid": "cell size", "step": "step"}

COLUMNS = (
    TableColumn("refined", lambda row: str(row["kind"])),
    TableColumn("cells", lambda row: " x ".join(map(str, row["cells"]))),
    TableColumn("spacing", number("spacing", ".4g")),
    TableColumn("steps", lambda row: str(row["steps"])),
    TableColumn("value", number("value", ".8g")),
    TableColumn("error", number("error", ".3e")),
    TableColumn("largest", number("largest", ".3e")),
    TableColumn("order", number("order", ".2f")),
)


def run(scenario: Scenario, asked: dict[str, Any], tell: Tell) -> int:
    """Do what was asked for with a scenario in float64. Raises `HeatsimError`, OSError."""
    check_folders((asked["figure"],))
    sought, exact = find_sought(scenario, asked["quantity"]), _expression(asked["exact"])
    kinds = _kinds(scenario, asked["refine"], tell)
    levels = asked["levels"] or (LEVELS if min(scenario.grid.cells) == 1 else LEVELS_IN_3D)
    with nullcontext(asked["output"]) if asked["output"] else tempfile.TemporaryDirectory() as place:
        studies, folder = [], Path(place)
        for kind in kinds:
            runs = list(_runs(scenario, _only(scenario, sought), kind, levels, folder, tell))
            studies.append(study(kind, runs, sought, exact if kind == "grid" else None))
    unit = runs[0].info["result_units"][sought.name] if sought.kind == "result" else scenario.unit
    _show(studies, asked, unit)
    return 0


def find_sought(scenario: Scenario, quantity: str) -> Sought:
    """The subject of a study, from "field", "probe NAME" or the name of a result. Raises StudyError."""
    if quantity == "field":
        return Sought("field")
    word, _, name = quantity.partition(" ")
    probes = [probe.name for probe in scenario.output.probes]
    results = [result.name for result in scenario.output.results]
    if quantity in results:
        return Sought("result", quantity)
    if word != "probe" or name not in probes:
        there = " or ".join(['"field"', *(f'"probe {each}"' for each in probes), *(f'"{each}"' for each in results)])
        raise StudyError(f"--quantity {quantity}: expected {there}")
    return Sought("probe", name)


def _expression(text: str | None) -> Expression | None:
    try:
        return None if text is None else Expression.parse(text, frozenset("xyzt"))
    except ExpressionError as error:
        raise StudyError(f"--exact: {error}") from None


def _kinds(scenario: Scenario, refine: str, tell: Tell) -> list[Refinement]:
    """The kinds of refinement that are asked for and possible. Raises StudyError."""
    kinds: list[Refinement] = []
    time = scenario.time
    if refine in ("grid", "both"):
        require_refinable(scenario)
        overrides(
            scenario, RefinementLevel(grid=FACTOR)
        )  # or the reason why there is no finer grid, before anything is run
        kinds.append("grid")
    if refine == "grid":
        return kinds
    if time.is_steady:
        reason = "a steady state has no steps"
    elif time.tolerance is not None:
        reason = "time.tolerance lets steps follow the error; leave it out to compare equal steps"
    else:
        return [*kinds, "step"]
    if refine == "step":
        raise StudyError(f"--refine step: {reason}")
    tell(f"the step is not refined: {reason}")
    return kinds


def _runs(
    scenario: Scenario,
    recorded: Sequence[str],
    kind: Refinement,
    levels: int,
    folder: Path,
    tell: Tell,
) -> Iterator[FinishedRun]:
    """The runs of a study, from coarse to fine. recorded: what is, as overrides."""
    from heatsim.simulation import run as runs

    common = [*recorded, *fix_integrator(scenario)]
    if kind == "step" and scenario.time.solves and scenario.time.step == "auto":
        common.append(f"time.step={scenario.time.end / IMPLICIT_STEPS!r}")
    first = load_again(scenario, common)
    step: float | None = None
    for halvings in range(levels):
        factor = FACTOR**halvings
        level = RefinementLevel(grid=factor) if kind == "grid" else RefinementLevel(step=factor)
        extra = overrides(first, level) if kind == "grid" else []
        if step is not None and (kind == "step" or _is_explicit(first)):
            wanted = step / (factor if kind == "step" else factor**2)
            extra = [*extra, f"time.step={_stable(wanted, scenario, [*common, *extra])!r}"]
        refined = load_again(scenario, [*common, *extra])
        tell(f"{kind} {halvings + 1} of {levels}: {' x '.join(map(str, refined.grid.cells))} cells ...")
        finished = runs.run_scenario(refined, folder / f"{kind}_{factor}", force=True)
        step = step or first.time.end / finished.info["steps"]
        yield FinishedRun(refined, finished.path, finished.info, level.grid, level.step)


def _stable(wanted: float, scenario: Scenario, given: Sequence[str]) -> float:
    """The step, or, where that is above the stability limit, the largest part of it that is not.

    Steps that fall exactly like the square of the spacing leave its order alone; the limit itself need not, as where a
    finer grid shows more of a good conductor.
    """
    from heatsim.problem import build_problem

    if not _is_explicit(scenario):
        return wanted
    largest = build_problem(load_again(scenario, [*given, "time.step=auto"])).largest_step
    return wanted / ceil(wanted / largest * (1.0 - 1e-12))


def _is_explicit(scenario: Scenario) -> bool:
    """Whether the integrator named has steps that the stability limit bounds."""
    return scenario.time.chosen is not None and scenario.time.chosen.bounded_by_stability


def _only(scenario: Scenario, sought: Sought) -> list[str]:
    """Overrides by which a run records only its end and what is sought: events on the way would cut steps short, by
    other shares on each level."""
    probes = [f'{{ name = "{each.name}", at = {list(each.at)}, count = 1 }}' for each in scenario.output.probes]
    found = ["output.snapshots={ count = 1 }", f"output.probes=[{', '.join(probes)}]"]
    found += [] if scenario.hotspots else ["output.slices=[]"]
    results = [result for result in scenario.output.results if result.name == sought.name and sought.kind == "result"]
    texts = []
    for result in results:
        text = f"name = {json.dumps(result.name)}, of = {json.dumps(result.of)}"
        text += "" if result.at is None else f", at = {result.at!r}"
        texts.append(text if result.over is None else f'{text}, over = "time", every = {scenario.time.end!r}')
    found.append(f"output.results=[{', '.join(f'{{ {text} }}' for text in texts)}]")
    if not results and scenario.stop is None and scenario.output.regions:
        found.append("output.regions=[]")
    return found + ([] if scenario.output.energy is None else ["output.energy={ count = 1 }"])


def _show(studies: Sequence[Study], asked: dict[str, Any], unit: str) -> None:
    if asked["figure"] is not None:
        from heatsim.studies.verification import report

        report.draw_studies(asked["figure"], studies, str(asked["file"]), unit, NAMES)
    if asked["as_json"]:
        all_studies = [asdict(each) for each in studies]
        print(json.dumps({"quantity": asked["quantity"], "exact": asked["exact"], "studies": all_studies}, indent=2))
        return
    rows: list[Row] = [{"kind": each.kind, **asdict(row)} for each in studies for row in each.rows]
    print_table(COLUMNS, rows, group=lambda row: row["kind"])
    for each in studies:
        print(_summary(each))
        shares = [row.compared for row in each.rows if row.compared is not None]
        if shares and min(shares) < 1.0:
            told = ", ".join(f"{100 * share:.3g} %" for share in shares)
            print(f"compared, from coarse to fine, of the body's volume what is solid on both grids: {told}")


def _summary(found: Study) -> str:
    where = "space" if found.kind == "grid" else "time"
    if found.order is None:
        return f"no order can be read in {where}: {found.reason}"
    limit = f"; the value goes to {found.limit:.8g}" if found.limit is not None else ""
    return f"observed order in {where}: {found.order:.2f}{limit}"
