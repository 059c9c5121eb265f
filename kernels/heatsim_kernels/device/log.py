"""The log of a run.

A logger of its own, which `logging` does not list: what a program that uses heatsim has set for its loggers stays, and
what it lists stays free of ours. A run adds the handler that writes `run.log`.
"""

from __future__ import annotations

import logging

log = logging.Logger("heatsim", logging.INFO)
