"""What a user reads when an input is wrong: the whole of stderr, for every bad input of tests/golden/messages.toml.

The wording is in that file alone; other tests assert keys and exit codes. After a change that is meant, write the file
anew, and read what changed in it:

    HEATSIM_WRITE_MESSAGES=1 python -m pytest tests/cli/test_messages.py
"""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tomli_w
from helpers.commands import Invoke, contents
from helpers.scenario_texts import MINIMAL, SMALL, case

GOLDEN = Path(__file__).parents[1] / "golden" / "messages.toml"
WRITE = "HEATSIM_WRITE_MESSAGES"
ROUND = "cells = [8, 1, 8]\nsize = [0.1, 6.283185307, 0.1]\ncoordinates = 'cylindrical'"
BEAM = {"kind": "gaussian", "power": 3.0, "radius": 0.06, "depth": 0.1, "path": "scan.csv"}
COPPER = "[materials.copper]\nconductivity = 398.0\ndensity = 8960.0\nheat_capacity = 385.0"
GEL = "[materials.copper]\ndiffusivity = 1e-9\nsolubility = 2.0"
BASES = {
    "nothing": "",
    "small": SMALL,
    "minimal": MINIMAL,
    "cylindrical": MINIMAL.replace("cells = [8, 8, 8]\nsize = [0.1, 0.1, 0.1]", ROUND),
    "quantity": MINIMAL.replace(
        "[materials.copper]\nconductivity = 398.0\ndensity = 8960.0\nheat_capacity = 385.0", GEL
    )
    .replace("temperature = 293.15", "moisture = 2.0")
    .replace("[grid]", '[quantity]\nname = "moisture"\nunit = "mol/m3"\n[grid]', 1),
    "beam": case([4, 4, 4], 1.0, sources=[{"beam": BEAM}]),
    "trace": case([4, 4, 4], 1.0, sources=[{"trace": "power.csv"}]),
}


def text_of(entry: dict[str, Any]) -> str:
    """A scenario text with a fault: a base in which something is replaced, added or put in front."""
    text = BASES[entry["base"]]
    if "old" in entry:
        assert entry["old"] in text, entry
        text = text.replace(entry["old"], entry["new"], 1)
    return str(entry.get("before", "") + text + entry.get("added", ""))


def write_arrays(folder: Path) -> None:
    """The files that bad inputs name."""
    np.save(folder / "small.npy", np.zeros((4, 4, 4), np.uint8))
    np.save(folder / "field.npy", np.full((8, 8, 8), 300.5))
    np.save(folder / "labels.npy", np.arange(512, dtype=np.uint8).reshape(8, 8, 8) % 3)
    np.save(folder / "nan.npy", np.where(np.arange(512).reshape(8, 8, 8) == 99, np.nan, 300.0))
    (folder / "junk.npy").write_bytes(b"junk")
    (folder / "folder.npy").mkdir()


def stderr_of(entry: dict[str, Any], invoke: Invoke, folder: Path) -> str:
    """What `heatsim validate` says of it, as `heatsim run` does. It must refuse it as bad input and write nothing."""
    (folder / "case.toml").write_text(text_of(entry))
    for name, text in entry.get("files", {}).items():
        (folder / name).write_text(text, encoding="latin-1")
    before = contents(folder)
    overrides = [word for key in entry.get("set", []) for word in ("--set", key)]
    done = invoke("run", "--dry-run", "case.toml", *overrides) if overrides else invoke("validate", "case.toml")
    assert (done.exit_code, done.stdout) == (2, ""), (entry, done.output)
    assert "Traceback" not in done.stderr
    assert contents(folder) == before
    return done.stderr.replace(f"{folder}/", "")


def test_every_bad_input_is_answered_by_the_message_of_the_golden_file(
    invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    write_arrays(tmp_path)
    entries = tomllib.loads(GOLDEN.read_text(encoding="utf-8"))["bad"]
    assert len(entries) > 250
    found = [{**entry, "stderr": stderr_of(entry, invoke, tmp_path)} for entry in entries]
    if os.environ.get(WRITE):
        GOLDEN.write_text(tomli_w.dumps({"bad": found}, multiline_strings=True), encoding="utf-8")
        return
    differ = [
        f"{told['stderr']}in place of\n{entry['stderr']}for {entry}"
        for entry, told in zip(entries, found, strict=True)
        if told != entry
    ]
    assert not differ, f"{len(differ)} messages differ ({WRITE}=1 writes the file anew):\n" + "\n\n".join(differ)


def test_every_message_names_its_place_and_its_key() -> None:
    """A line each, with the file, the line and the column in it, or the option, and the key."""
    for entry in tomllib.loads(GOLDEN.read_text(encoding="utf-8"))["bad"]:
        for line in entry["stderr"].splitlines():
            assert line.startswith(("error: case.toml:", "error: --set ", "error: scan.csv:", "error: power.csv:")), (
                line
            )
