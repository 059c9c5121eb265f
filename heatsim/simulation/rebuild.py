"""A run that a rebuild asks for: gone on with, begun, or left alone, as what its folder holds has it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heatsim.errors import HeatsimError, NothingLeftError, RequestError, RunFolderError
from heatsim.simulation.checkpointing import unchangeable
from heatsim.store.folder import RunFolder

if TYPE_CHECKING:
    from heatsim.scenario import Scenario
    from heatsim.simulation.run import Run, WarningCallback
    from heatsim.simulation.time_loop import ProgressCallback


def request_digest(scenario: Scenario) -> str:
    """A digest of what a scenario asks for: its keys but for those that a run may change on its way, and its data
    files, which are known by their size and the time of their last change."""
    kept = unchangeable(scenario)
    digest = hashlib.sha256(repr(sorted(kept.items())).encode())
    for name in sorted(set(_texts(kept))):
        path = Path(name)
        if path.is_absolute() and path.is_file():
            found = path.stat()
            digest.update(repr((name, found.st_size, found.st_mtime_ns)).encode())
    return digest.hexdigest()


def resume_or_run(
    scenario: Scenario, path: Path, *, on_progress: ProgressCallback, on_warnings: WarningCallback
) -> Run:
    """Go on with the run of this scenario in a folder; where the folder holds another run, one that failed, or none,
    run it from the start. Raises `NothingLeftError` where it has reached its end, and `HeatsimError` in its kinds."""
    from heatsim.simulation import run as runs

    if _holds(path, scenario):
        end = [] if scenario.time.is_steady else [f"time.end={scenario.time.end!r}"]
        try:
            return runs.resume_run(path, end, on_progress=on_progress, on_warnings=on_warnings)
        except NothingLeftError:
            raise
        except (RequestError, RunFolderError):  # beyond this end, or its checkpoint does not fit
            pass
    return runs.run_scenario(scenario, path, force=True, on_progress=on_progress, on_warnings=on_warnings)


def _holds(path: Path, scenario: Scenario) -> bool:
    """Whether a folder holds a run of this scenario that did not fail."""
    try:
        info = RunFolder.open(path).read_info()
    except HeatsimError:
        return False
    return info.get("state") != "failed" and info.get("request") == request_digest(scenario)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from _texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)
