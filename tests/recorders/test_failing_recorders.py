"""A recorder that fails ends the run with its error. It must not leave the others waiting for the writer."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from helpers.commands import BLOCK

import heatsim
from heatsim.output.recorders import derived_fields
from heatsim.scenario import loads


def fail(now: object) -> None:
    raise ArithmeticError("no such flux")


def test_a_derived_field_that_fails_ends_a_run_with_slices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = derived_fields.DERIVED_FIELDS["heat_flux"]._replace(values=fail)
    monkeypatch.setitem(derived_fields.DERIVED_FIELDS, "heat_flux", broken)
    scenario = loads(
        BLOCK.replace("snapshots = { every = 1.0 }", 'snapshots = { every = 1.0 }\nfields = ["heat_flux"]')
    )
    met: list[BaseException] = []

    def run() -> None:
        try:
            heatsim.run(scenario, tmp_path / "run")
        except ArithmeticError as error:
            met.append(error)

    running = threading.Thread(target=run, daemon=True)
    running.start()
    running.join(timeout=120.0)
    assert not running.is_alive(), "the run hangs"
    assert str(met[0]) == "no such flux"
    assert '"failed"' in (tmp_path / "run" / "run.json").read_text()
