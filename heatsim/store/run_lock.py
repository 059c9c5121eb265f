"""The lock of a run folder, which keeps a second process out while one writes in it.

The system gives it back when a process ends, however it ends, so a lock that was left behind by a dead process is free.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from heatsim.errors import RunFolderError
from heatsim.store.folder import LOCK, holds_nothing

try:
    import fcntl
except ImportError:  # Windows: no lock
    fcntl = None  # type: ignore[assignment]


@contextmanager
def locked_folder(path: Path) -> Iterator[None]:
    """Hold the lock of a folder, which is made if need be. Raises RunFolderError where another process holds it.

    A folder that is no run folder and not empty is left alone: nobody writes in it.
    """
    if fcntl is None or path.is_symlink() or (path.exists() and not _may_be_used(path)):
        yield
        return
    lock = path / LOCK
    try:
        path.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
    except OSError as error:
        raise RunFolderError(f"{path}: cannot be made a run folder: {error.strerror or error}") from None
    try:
        _take(descriptor, lock)
        try:
            yield
        finally:
            with suppress(OSError):  # the folder may have vanished
                lock.unlink()
    finally:
        os.close(descriptor)


def _may_be_used(path: Path) -> bool:
    return path.is_dir() and ((path / "run.json").is_file() or holds_nothing(path))


def _take(descriptor: int, lock: Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        held = lock.stat().st_ino == os.fstat(descriptor).st_ino  # not one that its owner has just removed
    except BlockingIOError:
        held = False
    except OSError:  # a file system without locks
        return
    if not held:
        owner = os.pread(descriptor, 20, 0).decode("ascii", "replace").strip()
        other = "another run of this process" if owner == str(os.getpid()) else f"another process ({owner})"
        raise RunFolderError(f"{lock.parent}: {other if owner else 'another process'} is writing in it")
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
