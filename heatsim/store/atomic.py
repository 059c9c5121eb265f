"""Files that appear whole or not at all, whatever kills the process."""

from __future__ import annotations

import os
from pathlib import Path


def temporary_name(path: Path) -> Path:
    """Name beside `path` under which its content is written before it is renamed into place."""
    return path.with_name(f".{path.name}.tmp")


def write_atomically(path: Path, data: bytes | memoryview, keep: Path | None = None) -> None:
    """Write `data` to `path`: a reader sees the old file or the whole new one, also after a crash.

    keep: the name under which the old file stays.

    Raises OSError (disk full, no permission), leaving the old file and no temporary one.
    """
    temporary = temporary_name(path)
    try:
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if keep is not None and path.exists():
            path.replace(keep)
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    """Make a rename durable. Windows cannot open folders, and needs no such call."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
