"""What is free on this machine before a run: memory, within the limits of a container, and disk."""

from __future__ import annotations

import os
import shutil
from math import inf
from pathlib import Path

from heatsim.errors import RunFolderError

CGROUP_LIMITS = (  # of version 2 and 1: limit, use, statistics with the part that can be given back
    ("memory.max", "memory.current", "inactive_file"),
    ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)
UNLIMITED = 2**60  # bytes; version 1 writes a number near 2**63 for none


def free_memory() -> tuple[float, str]:
    """Bytes of the host's memory that a run may take, and what they are of."""
    machine = _available() or float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    container = min((_free_in(folder) for folder in _cgroup_folders()), default=inf)
    if container < machine:
        return container, "of memory within the limit of this container"
    return machine, "of memory free in this machine"


def require_disk(path: Path, needed: float) -> None:
    """Raise `RunFolderError` where the disk of a run folder, perhaps yet to be made, has not so many bytes free."""
    place = path.absolute()
    while not place.exists() and place != place.parent:
        place = place.parent
    try:
        free = shutil.disk_usage(place).free
    except OSError:  # reported when the folder is made
        return
    if needed > free:
        raise RunFolderError(
            f"{path}: the results need about {needed / 1e9:.3g} GB, and there are {free / 1e9:.3g} GB free on its "
            "disk: take fewer snapshots (output.snapshots), or another folder with --output"
        )


def _available() -> float | None:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        return next(float(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration, ValueError, IndexError):
        return None


def _cgroup_folders() -> list[Path]:
    """The folders of this process's control groups and of those around them."""
    found: list[Path] = []
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return found
    for line in lines:
        _, _, rest = line.partition(":")
        controllers, _, group = rest.partition(":")
        if controllers and "memory" not in controllers.split(","):
            continue
        root = Path("/sys/fs/cgroup", "memory" if controllers else "")
        here = root / group.strip("/")
        found += [each for each in (here, *here.parents) if each.is_relative_to(root)]
    return found


def _free_in(folder: Path) -> float:
    """Bytes that a control group may take yet; infinite where it has no limit."""
    for limit, use, reclaimable in CGROUP_LIMITS:
        try:
            text = (folder / limit).read_text().strip()
            if text == "max" or int(text) >= UNLIMITED:
                continue
            statistics = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
            used = int((folder / use).read_text()) - int(statistics.get(reclaimable, 0))
            return float(max(0, int(text) - used))
        except (OSError, ValueError):
            continue
    return inf
