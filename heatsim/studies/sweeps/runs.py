"""The runs of a sweep: in this process, in worker processes or on a Dask cluster."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from time import monotonic
from typing import Any

from heatsim.base.atomic import for_a_moment, write_atomically
from heatsim.errors import HeatsimError, RequestError, RunFolderError
from heatsim.scenario import Scenario, load, load_again, loads
from heatsim.scenario.language.toml.messages import did_you_mean
from heatsim.scenario.sweep import Point, SweepAxis, Value, axes_of_file, axis_of_table, override_of, points_of
from heatsim.simulation import run as runs
from heatsim.store.folder import RunFolder, holds_nothing
from heatsim.studies.sweeps.table import ERROR, PLAN, STATE, TABLE, Row, values_of, write_table

ATTEMPTS = 3  # of a run whose worker dies
WRITE_EVERY = 2.0  # s, between two writings of the table


@dataclass(frozen=True)
class SweepPlan:
    """A family of runs. overrides: of all of them, as --set has them. text: of the scenario, where it is in no file."""

    scenario: Path
    points: tuple[Point, ...]
    overrides: tuple[str, ...] = ()
    trust: bool = False
    title: str = ""
    text: str | None = None

    def overrides_of(self, number: int) -> list[str]:
        """The overrides of a run, by its number."""
        return [*self.overrides, *(override_of(name, value) for name, value in self.points[number].items())]

    def load(self, number: int | None = None) -> Scenario:
        """The scenario of a run, or the one that all runs vary. Raises `ScenarioError`."""
        overrides = self.overrides if number is None else self.overrides_of(number)
        if self.text is None:
            return load(self.scenario, overrides, trust=self.trust)
        return loads(self.text, None, overrides, trust=self.trust)

    def plan(self) -> dict[str, Any]:
        """The content of `sweep.json`."""
        plan = {"scenario": str(self.scenario), "overrides": list(self.overrides), "points": list(self.points)}
        return plan if self.text is None else {**plan, "text": self.text}


def make_sweep(
    path: Path, axes: Sequence[SweepAxis], overrides: Sequence[str] = (), *, method: str | None = None,
    samples: int | None = None, seed: int | None = None, trust: bool = False, text: str | None = None,
) -> SweepPlan:  # fmt: skip
    """The sweep of a scenario file, or of a text in its place: over `axes`, or over those of its table [sweep] where
    there are none. Each run's scenario is checked. Raises HeatsimError in its kinds."""
    given = SweepPlan(path, (), tuple(overrides), trust, text=text).load()
    table, title = given.sweep, given.title or ("sweep" if text is not None else path.stem)
    if table is not None:
        if not axes:
            axes = axes_of_file(table.file) if table.file else [axis_of_table(*each) for each in table.vary.items()]
            method = method or ("zip" if table.file else table.method)
        samples, seed = samples if samples is not None else table.samples, table.seed if seed is None else seed
    method = method or "product"
    found = points_of(axes, method, samples if method == "latin_hypercube" else None, seed or 0)
    sweep = SweepPlan(path, tuple(found), tuple(overrides), trust, title, text)
    _require_known(path, sweep, list(given.parameters))
    return sweep


def _require_known(path: Path, sweep: SweepPlan, known: Sequence[str]) -> None:
    """Raise for names that are no parameters: `--set` would only make new ones that nothing uses."""
    for name in sweep.points[0]:
        if "." not in name and name not in known:
            hint = did_you_mean(name, known) or (f"known here: {', '.join(known)}" if known else "it has none")
            raise RequestError(f"{name}: is no parameter of {path} ({hint})")
    for number in {0, len(sweep.points) - 1}:
        sweep.load(number)


def run_sweep(
    sweep: SweepPlan, folder: Path, *, workers: int = 1, scheduler: str | None = None, resume: bool = False,
    force: bool = False, on_row: Callable[[int, Row], None] = lambda number, row: None,
) -> dict[int, Row]:  # fmt: skip
    """Take the runs of a sweep, each in a folder of its own in `folder`; what came of them, by number.

    workers: processes; one means this one. scheduler: address of a Dask scheduler in their place. resume: whether
    runs that have finished there are kept. A run that fails is a row with its error. Raises HeatsimError in its kinds,
    as for a folder that holds another sweep.
    """
    rows = _begin(sweep, folder, resume, force)
    for number, row in rows.items():
        on_row(number, row)
    left = [number for number in range(len(sweep.points)) if number not in rows]
    written = monotonic()
    try:
        for number, row in _taken(sweep, folder, left, workers, scheduler):
            rows[number] = row
            on_row(number, row)
            if monotonic() - written > WRITE_EVERY:
                write_table(folder / TABLE, sweep.points, rows)
                written = monotonic()
    finally:
        write_table(folder / TABLE, sweep.points, rows)
    return rows


def _begin(sweep: SweepPlan, folder: Path, resume: bool, force: bool) -> dict[int, Row]:
    """Make the folder; the rows of runs that are done."""
    plan, place = sweep.plan(), folder / PLAN
    if folder.exists() and not (place.is_file() or holds_nothing(folder, PLAN)):
        raise RunFolderError(f"{folder}: exists and holds no sweep; choose another with --output")
    if place.is_file() and not force:
        if not resume:
            raise RunFolderError(f"{folder}: holds a sweep; --resume does what is missing, --force begins it anew")
        if json.loads(place.read_text(encoding="utf-8")) != json.loads(json.dumps(plan)):
            raise RunFolderError(f"{folder}: holds a sweep of other parameters; --force begins it anew")
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(place, json.dumps(plan, indent=1).encode())
    return _finished(sweep, folder) if resume and not force else {}


def _finished(sweep: SweepPlan, folder: Path) -> dict[int, Row]:
    rows = {}
    for number in range(len(sweep.points)):
        run = RunFolder(folder / f"{number:04d}")
        try:
            info = run.read_info()
        except HeatsimError:
            continue
        if info.get("state") == "finished":
            rows[number] = {STATE: "finished", **values_of(run, info)}
    return rows


def take_run(sweep: SweepPlan, folder: Path, number: int, threads: int = 0) -> Row:
    """Take a run of a sweep; what came of it. threads: of the CPU, 0 for all."""
    if threads:
        import numba

        numba.set_num_threads(min(threads, numba.config.NUMBA_NUM_THREADS))
    path = folder / f"{number:04d}"
    try:
        scenario = sweep.load(number)
        done = runs.run_scenario(scenario, path, force=True)
    except HeatsimError as error:
        return {STATE: "failed", ERROR: str(error).partition("\n")[0]}
    return {STATE: done.info["state"], **values_of(RunFolder(path), done.info)}


def _taken(
    sweep: SweepPlan, folder: Path, numbers: Sequence[int], workers: int, scheduler: str | None
) -> Iterator[tuple[int, Row]]:
    """The numbers of runs and what came of them, as they are done."""
    if scheduler is not None:
        yield from _on_cluster(sweep, folder, numbers, scheduler)
    elif workers == 1:
        yield from ((number, take_run(sweep, folder, number)) for number in numbers)
    else:
        yield from _in_processes(sweep, folder, numbers, workers)


def _in_processes(sweep: SweepPlan, folder: Path, numbers: Sequence[int], workers: int) -> Iterator[tuple[int, Row]]:
    """A pool breaks when a worker dies, and takes the runs under way with it: they are taken again in a new one. Where
    that breaks before any run is done, they are taken one by one, since one of them may be what kills its worker."""
    left, threads = list(numbers), max(1, (os.cpu_count() or 1) // workers)
    while left:
        begun = len(left)
        for number, row in _pooled(sweep, folder, left, min(workers, begun), threads):
            left.remove(number)
            yield number, row
        if left and len(left) == begun:
            for number in left[:workers]:
                left.remove(number)
                yield number, _taken_alone(sweep, folder, number)


def _pooled(
    sweep: SweepPlan, folder: Path, numbers: Sequence[int], workers: int, threads: int
) -> Iterator[tuple[int, Row]]:
    """The runs that are done before a worker dies."""
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool, suppress(BrokenProcessPool):
        yield from _submitted(pool, sweep, folder, numbers, threads)


def _taken_alone(sweep: SweepPlan, folder: Path, number: int) -> Row:
    for _ in range(ATTEMPTS - 1):
        for _, row in _pooled(sweep, folder, [number], 1, 0):
            return row
    return {STATE: "failed", ERROR: "its worker process died"}


def _on_cluster(sweep: SweepPlan, folder: Path, numbers: Sequence[int], scheduler: str) -> Iterator[tuple[int, Row]]:
    try:
        from distributed import Client
    except ImportError:
        raise RequestError("--scheduler needs Dask: pip install 'heatsim[sweep]'") from None
    try:
        client = Client(scheduler, timeout=10)
    except (OSError, ValueError) as error:
        raise RequestError(f"--scheduler {scheduler}: cannot be reached ({error or 'no answer'})") from None
    with client:
        pool = client.get_executor(pure=False, retries=ATTEMPTS - 1)
        yield from _submitted(pool, sweep, folder.resolve(), numbers, 0)


def _submitted(
    pool: Executor, sweep: SweepPlan, folder: Path, numbers: Sequence[int], threads: int
) -> Iterator[tuple[int, Row]]:
    futures: dict[Future[Row], int] = {
        pool.submit(take_run, sweep, folder, number, threads): number for number in numbers
    }
    try:
        for future in as_completed(futures):
            yield futures[future], future.result()
    finally:
        for future in futures:
            future.cancel()


def with_parameters(
    scenario: Path | str | Scenario, parameters: Mapping[str, Value], more: Sequence[str] = ()
) -> Scenario:
    """A scenario file, or what `load` made of one, with other values of parameters, and more overrides after these.
    Raises HeatsimError in its kinds."""
    overrides = [*(override_of(name, value) for name, value in parameters.items()), *more]
    if not isinstance(scenario, Scenario):
        return load(Path(scenario), overrides)
    return load_again(scenario, overrides) if overrides else scenario


def evaluate(
    scenario: Scenario,
    parameters: Mapping[str, Value],
    output: Path | None = None,
    on_warnings: runs.WarningCallback = lambda warnings: None,
    *,
    results: Sequence[str] = (),
) -> tuple[dict[str, float | None], runs.Run]:
    """The results of one run by name and unit, and the run: see `heatsim.evaluate`. Without a folder to keep the run in
    it makes neither snapshots nor pictures, and its folder is gone."""
    loaded = with_parameters(scenario, parameters)
    _require_results(loaded, results)
    kept = output is not None
    with tempfile.TemporaryDirectory() as folder, nullcontext() if kept else for_a_moment():
        path = output or Path(folder) / "run"
        run = runs.run_scenario(loaded, path, on_warnings=on_warnings, numbers_only=not kept)
        found = dict(run.info["results"]) if "results" in run.info else values_of(RunFolder(run.path), run.info)
        return ({name: found[name] for name in results} if results else found), run


def _require_results(scenario: Scenario, names: Sequence[str]) -> None:
    known = [result.name for result in scenario.output.results]
    for name in names:
        if name not in known:
            hint = did_you_mean(name, known) or f"known here: {', '.join(known) or 'none'}"
            raise RequestError(f"results: expected a list of names of [[output.results]], found {name!r} ({hint})")
