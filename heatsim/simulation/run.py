"""A run: from a scenario to a folder of results."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from heatsim_kernels.device.log import log

from heatsim.base.atomic import write_atomically
from heatsim.base.quantity import Quantity
from heatsim.base.shown import Shown
from heatsim.errors import HeatsimError, Issue, NothingLeftError, RequestError, RunFolderError
from heatsim.output.pictures.options import draw_closing_pictures
from heatsim.output.recorders import TABLES, make_recorders
from heatsim.output.recorders.timings import Timings
from heatsim.output.recorders.writer import Writer
from heatsim.problem import Problem, build_problem
from heatsim.simulation import device_selection
from heatsim.simulation.checkpointing import CHANGEABLE, Checkpointing, fingerprint, request_digest
from heatsim.simulation.over_time import OverTime
from heatsim.simulation.periodic_state import find_periodic_state
from heatsim.simulation.preparing import for_wider_range, prepare
from heatsim.simulation.range_watch import RangeLeft
from heatsim.simulation.run_info import describe_outcome, describe_run, found_values, seconds_of
from heatsim.simulation.run_warnings import growth_warnings, rank_warnings, slow_warnings
from heatsim.simulation.stop_criterion import StopCriterion
from heatsim.simulation.time_loop import ProgressCallback, simulate
from heatsim.solve.integrators import auto, integrator_of, make_field
from heatsim.solve.state import State
from heatsim.store.checkpoints import Checkpoint, newest_checkpoint, write_checkpoint
from heatsim.store.folder import RunFolder, locked_folder

if TYPE_CHECKING:
    from heatsim.output.viewer.page import Embedded
    from heatsim.scenario import Scenario
    from heatsim.simulation.time_loop import ProgressCallback

WarningCallback = Callable[[Sequence[Issue]], None]


@dataclass(frozen=True, repr=False)
class Run(Shown):
    """A run that has ended: its folder, what run.json says of it, and what it warned of, the scenario included."""

    path: Path
    info: dict[str, Any]
    warnings: tuple[str, ...] = ()

    def facts(self) -> tuple[str, dict[str, str]]:
        """A title and values by name: see `heatsim.base.shown`."""
        info = self.info
        reached = "the steady state" if info.get("time") is None else f"t = {info['time']:g} s"
        units, found = info.get("result_units", {}), info.get("results", {})
        results = {name: f"{value:.6g} {units.get(name, '')}" for name, value in found.items() if value is not None}
        told = {
            "title": str(info.get("title", "")),
            "grid": f"{' x '.join(map(str, info.get('cells', [])))} cells",
            "steps": f"{info.get('steps')} by {info.get('integrator')}, on {info.get('device_name')}",
            "took": f"{info.get('timings', {}).get('total_seconds', 0.0):.3g} s",
            "warnings": str(len(self.warnings) or len(info.get("warnings", []))),
            **results,
        }
        return f"Run({str(self.path)!r}, {info.get('state', 'unknown')} at {reached})", told

    def __repr__(self) -> str:
        return self.facts()[0]

    def picture(self) -> bytes | None:
        """The overview of the run, where it has snapshots."""
        from heatsim.output.pictures.options import overview_picture

        try:
            return overview_picture(RunFolder.open(self.path))
        except (HeatsimError, OSError):
            return None

    def view(self, field: str = "", *, height: int = 760) -> Embedded:
        """The page of `heatsim view` of a field, "" for what was solved for, in a notebook, `height` pixels high.

        Raises `heatsim.errors.HeatsimError` where there is no snapshot that can be read, or no such field in them.
        """
        from heatsim.output.viewer.frames import FrameSource
        from heatsim.output.viewer.page import Embedded, make_page
        from heatsim.store.field_reader import FieldReader

        source = FrameSource(FieldReader(RunFolder.open(self.path)), field)
        return Embedded(make_page(source, log.warning, lambda part: None)[0], height)

    @property
    def timings(self) -> dict[str, float]:
        """Wall seconds, as run.json has them: `total_seconds`, `loop_seconds` of the steps, and of what lies beside."""
        return dict(self.info["timings"])

    @property
    def finished(self) -> bool:
        """Whether the end time was reached."""
        return bool(self.info["state"] == "finished")


def default_folder(scenario: Scenario) -> Path:
    """`outputs/<name of the scenario file>` in the current folder; of the scenario in a run folder, one beside that
    folder, with a number after its name."""
    if scenario.path is None or not (scenario.path.parent / "run.json").is_file():
        return Path("outputs") / (scenario.path.stem if scenario.path else "run")
    of = scenario.path.parent.resolve()
    number = next(number for number in count(2) if not of.with_name(f"{of.name}-{number}").exists())
    return of.with_name(f"{of.name}-{number}")


def run_scenario(
    scenario: Scenario,
    output: Path | str | None = None,
    *,
    force: bool = False,
    on_progress: ProgressCallback = lambda progress: True,
    on_warnings: WarningCallback = lambda warnings: None,
    numbers_only: bool = False,
) -> Run:
    """Run a scenario and keep its results in the folder `output` (default: `outputs/<scenario>`).

    `on_progress` is called with the progress about ten times a second and may end the run early, with a checkpoint, by
    returning False, or ask for one: see `time_loop.Request`.
    `on_warnings` is called, before the run, with probable mistakes in the scenario. numbers_only: see
    `make_recorders`; no pictures are drawn at the end either. Raises `HeatsimError` in its kinds: invalid scenario,
    folder that exists (unless `force`) or that another process writes in, no GPU, not finite. Nothing is written before
    the scenario has been found valid as a whole; what was written stays if the run fails later.
    """
    started = time.perf_counter()
    path = Path(output) if output is not None else default_folder(scenario)
    problem, choice, taken = prepare(scenario, path)
    warnings = [*problem.warnings(), *growth_warnings(problem), *slow_warnings(problem, taken)]
    warnings += [*rank_warnings(problem, choice.device == "cuda")]
    on_warnings(warnings)
    with locked_folder(path):
        folder = RunFolder.create(path, force, TABLES)
        callbacks = _Callbacks(on_progress, started, numbers_only, request_digest(scenario))
        try:
            with _logged_to(folder.log, warnings):
                write_atomically(folder.scenario, problem.scenario.to_toml().encode())
                return _run_in(folder, problem, choice, taken, callbacks)
        except RangeLeft as left:
            return _run_anew(path, left, problem, taken, callbacks, on_warnings)


def resume_run(
    path: Path,
    overrides: Sequence[str] = (),
    *,
    on_progress: ProgressCallback = lambda progress: True,
    on_warnings: WarningCallback = lambda warnings: None,
) -> Run:
    """Go on with the run in a folder from its last whole checkpoint, to the same bits as if it had not been stopped.

    Results later than that are removed and come again. A run that was stopped before its first checkpoint, and one to a
    steady state, starts anew. overrides: "time.end=20" extends the run; other keys: `CHANGEABLE`. Raises `HeatsimError`
    in its kinds, as where the checkpoint does not fit the scenario, or the run has reached its end.
    """
    started = time.perf_counter()
    RunFolder.open(path)
    with locked_folder(path):
        folder = RunFolder(path, goes_on=True)
        info = folder.read_info()
        scenario = load_changed(path, overrides)
        checkpoint, damages = newest_checkpoint(folder)
        saved = None if checkpoint is None else checkpoint.state
        search = None if saved is None else saved.get("periodic")  # for the periodic state, before the first step
        before = saved["run"] if saved is not None else {}
        saved = None if search is not None else saved
        _require_something_left(path, info, scenario, saved)
        problem, choice, taken = prepare(scenario, reference=before.get("reference"), hottest=_hottest(saved))
        if checkpoint is not None and not _fits(checkpoint, problem, path):
            raise RunFolderError(f"{path}: its checkpoint does not fit its scenario or the input files of that")
        warnings = [Issue(f"{damage}; the one before is taken") for damage in damages]
        if saved is None:
            found = "has no checkpoint, so the run starts anew"
            if search is not None:
                found = f"goes on with the search for the periodic state, after {len(search['changes'])} periods"
            warnings.append(Issue(f"{path}: {found}"))
            folder = RunFolder.create(path, force=True, tables=TABLES)
            if checkpoint is not None:
                write_checkpoint(folder, checkpoint)
        on_warnings(warnings)
        callbacks = _Callbacks(on_progress, started, request=info.get("request", ""))
        try:
            with _logged_to(folder.log, warnings, anew=saved is None):
                write_atomically(folder.scenario, problem.scenario.to_toml().encode())
                return _run_in(folder, problem, choice, taken, callbacks, saved, search)
        except RangeLeft as left:
            return _run_anew(path, left, problem, taken, callbacks, on_warnings)


def resume_or_run(
    scenario: Scenario, path: Path, *, on_progress: ProgressCallback, on_warnings: WarningCallback
) -> Run:
    """Go on with the run of this scenario in a folder; where the folder holds another run, one that failed, or none,
    run it from the start. Raises `NothingLeftError` where it has reached its end, and `HeatsimError` in its kinds."""
    if _holds(path, scenario):
        end = [] if scenario.time.is_steady else [f"time.end={scenario.time.end!r}"]
        try:
            return resume_run(path, end, on_progress=on_progress, on_warnings=on_warnings)
        except NothingLeftError:
            raise
        except (RequestError, RunFolderError):  # beyond this end, or its checkpoint does not fit
            pass
    return run_scenario(scenario, path, force=True, on_progress=on_progress, on_warnings=on_warnings)


def _holds(path: Path, scenario: Scenario) -> bool:
    """Whether a folder holds a run of this scenario that did not fail."""
    try:
        info = RunFolder.open(path).read_info()
    except HeatsimError:
        return False
    return info.get("state") != "failed" and info.get("request") == request_digest(scenario)


def _hottest(saved: Mapping[str, Any] | None) -> float:
    """The highest temperature that the steps of a saved run were made for, K, or 0."""
    return 0.0 if saved is None else float(saved["run"].get("hottest", 0.0))


def _fits(checkpoint: Checkpoint, problem: Problem, path: Path) -> bool:
    """Whether the run of a checkpoint can go on as this problem: it has its inputs, and its tables of materials too or
    those of the range to which another end leads; they count heat from the same reference."""
    if checkpoint.fits == fingerprint(problem):
        return True
    before = load_changed(path, ())
    if problem.tabulated is None or before.time.end == problem.scenario.time.end:
        return False
    return checkpoint.fits == fingerprint(build_problem(before, problem.reference, _hottest(checkpoint.state)))


def load_changed(path: Path, overrides: Sequence[str]) -> Scenario:
    """The scenario of a run folder with the overrides that a run may have on its way. Raises `HeatsimError`."""
    from heatsim.scenario import load

    folder = RunFolder.open(path)
    for override in overrides:
        key = override.partition("=")[0].strip()
        if not any(key == each or key.startswith(f"{each}.") for each in CHANGEABLE):
            raise RequestError(f"--set {key}: a run that goes on may change {', '.join(CHANGEABLE)} only")
    return load(folder.scenario, overrides, trust=True)  # as the run was, of which these are the files


def _require_something_left(
    path: Path, info: Mapping[str, Any], scenario: Scenario, saved: Mapping[str, Any] | None
) -> None:
    """Raise `RequestError` for a run that has reached its end, or is beyond the one that it is given."""
    reached = None if saved is None else saved["run"]["time"]
    done = info.get("state") == "finished"  # one that was killed at its end has yet to be closed
    if done and (reached is None or reached < info["time"]):  # its end was not worth a checkpoint
        reached = info["time"]
    if done and reached is None:
        raise NothingLeftError(f"{path}: has reached its end")
    if done and reached == scenario.time.last_time:
        raise NothingLeftError(f"{path}: is at t = {reached:g} s, its end; --set time.end=... extends it")
    if reached is not None and reached > scenario.time.last_time:
        raise RequestError(
            f"{path}: is at t = {reached:g} s, and its end is {scenario.time.last_time:g} s; "
            "--set time.end=... extends it"
        )


class _Callbacks(NamedTuple):
    """What is reported of progress, when the command began, whether only numbers are wanted, and what was asked for:
    see `request_digest`."""

    on_progress: ProgressCallback
    started: float
    numbers_only: bool = False
    request: str = ""


def _run_anew(
    path: Path,
    left: RangeLeft,
    problem: Problem,
    taken: auto.Recommendation | None,
    callbacks: _Callbacks,
    on_warnings: WarningCallback,
) -> Run:
    """Run from the start, for the range that a run of this problem has left, or of the next that leaves it."""
    while True:
        told = Issue(problem.scenario.solved.in_own_words(str(left)))
        on_warnings([told])
        problem = for_wider_range(problem, taken, left.wanted)
        folder = RunFolder.create(path, force=True, tables=TABLES)
        try:
            with _logged_to(folder.log, [told]):
                write_atomically(folder.scenario, problem.scenario.to_toml().encode())
                choice = device_selection.choose_device(problem.scenario)
                return _run_in(folder, problem, choice, taken, callbacks)
        except RangeLeft as further:
            left = further


def _run_in(
    folder: RunFolder,
    problem: Problem,
    choice: device_selection.DeviceChoice,
    taken: auto.Recommendation | None,
    callbacks: _Callbacks,
    saved: dict[str, Any] | None = None,
    search: dict[str, Any] | None = None,
) -> Run:
    """saved: the state to go on from; search: what is known of the periodic state, to go on with."""
    info, started = {**describe_run(problem, choice, taken), "request": callbacks.request}, callbacks.started
    log.info(
        "%s: %s cells on %s (kernel %s)", problem.scenario.title, problem.grid.cells, choice.device_name, choice.kernel
    )
    folder.write_info({"state": "running", **info})
    timings = Timings()
    state: State | None = None
    try:
        stops_early, start = False, None
        if problem.scenario.time.periodic is not None and saved is None:
            periodic = find_periodic_state(
                problem, choice.kernel, callbacks.on_progress, search, partial(_keep_search, folder, problem)
            )
            stops_early, start = periodic is None, periodic and periodic.start
            info["periodic"] = {"changes": periodic.changes if periodic else []}
        state = State(problem, make_field(problem, choice.kernel), start)
        # Compile what is not compiled yet without a step, so that the time loop's rate is that of the kernels.
        integrator_of(problem).warm_up(state)
        state.field.sample(0.0)
        state.field.is_finite()
        if saved is not None:
            state.restore(saved["run"])
            log.info("goes on from t = %g s, step %d", state.time, state.step)
        control, asked = problem.scenario.time, problem.scenario.stop
        stop = StopCriterion(asked, control.end, control.tolerance) if asked else None
        over_time = OverTime.of(problem.scenario)
        timings.preparing = time.perf_counter() - started
        if stops_early:
            callbacks = callbacks._replace(on_progress=lambda progress: False)
        outcome = _compute(folder, state, callbacks, timings, stop, over_time, saved)
    except RangeLeft:
        raise
    except BaseException as error:
        _note_failure(folder, error, info | (describe_outcome(state, timings, started) if state else {}))
        raise
    info = {
        "state": outcome,
        **info,
        **describe_outcome(state, timings, started),
        **found_values(folder, problem.scenario, outcome == "finished", over_time),
    }
    if stop is not None and stop.met is not None:
        info["stop"] = stop.met
    elif stop is not None and outcome == "finished":
        info["warnings"] = [*info["warnings"], problem.scenario.solved.in_own_words(stop.warning)]
    for warning in info["warnings"]:
        log.warning("%s", warning)
    log.info("%s at t = %g s after %d steps", outcome, state.time, state.step)
    folder.write_info(info)
    if outcome == "finished" and not callbacks.numbers_only:
        with timings.counted("pictures"):
            draw_closing_pictures(folder, problem.scenario, log.warning)
        info["timings"] = seconds_of(timings, started)
        folder.write_info(info)
    return Run(folder.path, info)


def _keep_search(folder: RunFolder, problem: Problem, search: dict[str, Any]) -> None:
    """Write a checkpoint of the search for a periodic state."""
    hottest = 0.0 if problem.tabulated is None else problem.tabulated.hottest
    run = {"reference": problem.reference, "hottest": hottest}
    write_checkpoint(folder, Checkpoint(fingerprint(problem), {"run": run, "periodic": search}))


def _note_failure(folder: RunFolder, error: BaseException, info: Mapping[str, Any]) -> None:
    """Keep in the run folder what ended the run. Raises `HeatsimError` where that folder is gone."""
    if isinstance(error, HeatsimError):
        error.args = (Quantity.of_run(info).in_own_words(str(error)),)
    told = str(error) or type(error).__name__
    log.error("%s", told)
    stopped = not isinstance(error, Exception)  # by a signal before the first step
    if not stopped and not folder.path.is_dir():  # whatever failed first for lack of it
        raise HeatsimError(f"{folder.path}: the run folder has vanished while the run wrote in it") from error
    with suppress(OSError):  # a full disk: the first error is the one to tell
        folder.write_info({"state": "stopped" if stopped else "failed", "error": told, **info})


def _compute(
    folder: RunFolder,
    state: State,
    callbacks: _Callbacks,
    timings: Timings,
    stop: StopCriterion | None,
    over_time: OverTime | None,
    saved: dict[str, Any] | None = None,
) -> str:
    """The time loop with its recorders; returns "finished" or "stopped". Results are complete when it returns."""
    writer, problem = Writer(timings), state.problem
    try:
        with timings.counted("preparing"):
            recorders = make_recorders(problem, folder, writer, numbers_only=callbacks.numbers_only)
            keeps = not callbacks.numbers_only  # else its folder is gone at the end, and nothing can go on from there
            checkpointing = Checkpointing(folder, problem, writer, saved, stop) if keeps else None
        finished = False
        try:
            asked = recorders, timings, callbacks.on_progress, checkpointing, stop, over_time
            finished = simulate(state, *asked, watches_range=True)
            writer.finish()
        finally:
            writer.waited_for = "pictures"
            with timings.counted("pictures"):
                for recorder in recorders:
                    recorder.close(finished)
    finally:
        with timings.counted("pictures"):
            writer.close()
    return "finished" if finished else "stopped"


@contextmanager
def _logged_to(path: Path, warnings: Sequence[Issue], *, anew: bool = True) -> Iterator[None]:
    """Keep the log of a run in a file, the warnings first."""
    # A path that is no text in the locale of the command line is written as its bytes.
    handler = logging.FileHandler(path, mode="w" if anew else "a", encoding="utf-8", errors="backslashreplace")
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    log.addHandler(handler)
    log.info("command: %s", " ".join(sys.argv))
    for warning in warnings:
        log.warning("%s", warning)
    try:
        yield
    finally:
        log.removeHandler(handler)
        handler.close()
