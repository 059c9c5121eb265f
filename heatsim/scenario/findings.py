"""What a check finds."""

from __future__ import annotations

from typing import NamedTuple

from heatsim.scenario.scanner import Key


class Finding(NamedTuple):
    """Something wrong: where, what, and what may help."""

    key: Key
    message: str
    hint: str = ""
