"""A run that a rebuild asks for: gone on with, begun, or left alone, as what its folder holds has it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from heatsim.errors import HeatsimError, NothingLeftError, RequestError, RunFolderError
from heatsim.simulation import run as runs
from heatsim.simulation.checkpointing import request_digest
from heatsim.store.folder import RunFolder

if TYPE_CHECKING:
    from heatsim.scenario import Scenario
    from heatsim.simulation.run import Run, WarningCallback
    from heatsim.simulation.time_loop import ProgressCallback


def resume_or_run(
    scenario: Scenario, path: Path, *, on_progress: ProgressCallback, on_warnings: WarningCallback
) -> Run:
    """Go on with the run of this scenario in a folder; where the folder holds another run, one that failed, or none,
    run it from the start. Raises `NothingLeftError` where it has reached its end, and `HeatsimError` in its kinds."""
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
