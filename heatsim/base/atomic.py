"""Files that appear whole or not at all, whatever kills the process."""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any

SPOOL_BYTES = 2**20  # a file in progress that is larger goes to the disk as it grows
_BLOCK_BYTES = 2**20
_BEHIND = 2**24  # bytes of a growing file that the system may hold back before it is asked to write
_durable: ContextVar[bool] = ContextVar("durable", default=True)  # whether files have to outlast a power cut


@contextmanager
def for_a_moment() -> Iterator[None]:
    """Let this thread not wait for the disk: for files that a command removes when it ends."""
    token = _durable.set(False)
    try:
        yield
    finally:
        _durable.reset(token)


def temporary_name(path: Path) -> Path:
    """Name beside `path` under which its content is written before it is renamed into place."""
    return path.with_name(f".{path.name}.tmp")


def write_atomically(path: Path, data: bytes | memoryview, keep: Path | None = None) -> None:
    """Write `data` to `path`: a reader sees the old file or the whole new one, also after a crash.

    keep: the name under which the old file stays.

    Raises OSError (disk full, no permission), leaving the old file and no temporary one.
    """
    with atomic_file(path, keep) as file:
        file.write(data)


@contextmanager
def atomic_file(path: Path, keep: Path | None = None) -> Iterator[AtomicFile]:
    """A file to be composed, whose content appears at `path` at the end of the block; keep, errors: as above.

    Its errors come at the end too, so that a library that writes in it does not meet them.
    """
    temporary = temporary_name(path)
    file = AtomicFile(temporary)
    try:
        try:
            yield file
        except Exception:
            file.check()  # what failed first
            raise
        file.finish()
        if keep is not None and path.exists():
            path.replace(keep)
        temporary.replace(path)
    finally:
        file.close()
        temporary.unlink(missing_ok=True)
    _sync_folder(path.parent)


class AtomicFile(io.RawIOBase):
    """A file in progress: in memory while it is small, then under a temporary name.

    It takes whatever is written; the first error of the disk is kept, and what comes after it is dropped.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stream: Any = io.BytesIO()
        self._on_disk = False
        self._error: OSError | None = None
        self._asked, self._since = 0, 0  # up to where the system has been asked to write; bytes written since
        self._at = 0

    def write(self, data: Any) -> int:
        """Write all of the data where the file stands."""
        view = memoryview(data).cast("B")
        if self._error is None:
            try:
                if not self._on_disk and self._at + len(view) > SPOOL_BYTES:
                    self._move_to_disk()
                self._write_all(view)
                self._at += len(view)
                self._write_behind(len(view))
            except OSError as error:
                self._error, self._at = error, int(self._stream.tell())
        return len(view)

    def readinto(self, buffer: Any) -> int:
        """Read into a buffer from where the file stands."""
        count = int(self._stream.readinto(buffer) or 0)
        self._at += count
        return count

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Go to a place. HDF5 asks for that before each chunk, where the file stands mostly."""
        if whence != os.SEEK_SET or offset != self._at:
            self._at = int(self._stream.seek(offset, whence))
        return self._at

    def tell(self) -> int:
        """Where the file stands."""
        return self._at

    def truncate(self, size: int | None = None) -> int:
        """Set the size in bytes."""
        try:
            return int(self._stream.truncate(size))
        except OSError as error:
            self._error = self._error or error
            return self.tell() if size is None else size

    def readable(self) -> bool:
        """Always."""
        return True

    def writable(self) -> bool:
        """Always."""
        return True

    def seekable(self) -> bool:
        """Always."""
        return True

    def size(self) -> int:
        """Bytes so far."""
        return self.seek(0, os.SEEK_END)

    def sha256(self, start: int = 0) -> str:
        """The checksum of all from a place on."""
        digest, buffer = hashlib.sha256(), bytearray(_BLOCK_BYTES)
        self.seek(start)
        with memoryview(buffer) as view:
            while count := self.readinto(buffer):
                digest.update(view[:count])
        return digest.hexdigest()

    def check(self) -> None:
        """Raise the first error of the disk, if there was one."""
        if self._error is not None:
            raise self._error

    def finish(self) -> None:
        """Have all on the disk under the temporary name. Raises OSError."""
        self.check()
        if not self._on_disk:
            self._move_to_disk()
        if _durable.get():
            os.fsync(self._stream.fileno())

    def close(self) -> None:
        """Close the file; the temporary name stays."""
        self._stream.close()
        super().close()

    def _move_to_disk(self) -> None:
        memory = self._stream
        self._stream = self._path.open("w+b", buffering=0)
        self._on_disk = True
        self._write_all(memory.getbuffer())
        self._stream.seek(self._at)

    def _write_all(self, view: memoryview) -> None:
        done = 0
        while done < len(view):
            done += self._stream.write(view[done:])

    def _write_behind(self, count: int) -> None:
        """Have the system begin to write what lies in the file, so that the sync at its end finds little to do."""
        self._since += count
        if self._since >= _BEHIND and self._on_disk and hasattr(os, "posix_fadvise"):
            with suppress(OSError):  # Linux answers this advice by writing these bytes at once
                os.posix_fadvise(self._stream.fileno(), self._asked, 0, os.POSIX_FADV_DONTNEED)
            self._asked, self._since = self._at, 0


def _sync_folder(folder: Path) -> None:
    """Make a rename durable. Windows cannot open folders, and needs no such call."""
    if os.name == "nt" or not _durable.get():
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
