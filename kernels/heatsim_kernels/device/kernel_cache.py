"""Where compiled kernels are kept on disk.

Numba recognises compiled code by the one file that a function stands in, and misses changes of the files that it calls
into. Each module of kernels therefore has a folder of its own, named after the sources that it is made of: its own file
and all files of this library that it imports, directly or through others. An edit of a file compiles again only the
modules that depend on it.

In a folder, each signature of a kernel has a file of its own. Numba's index of all signatures is read, changed and
written without a lock: of processes that compile at the same time one loses what the other has added, or takes the
other's code for its own (numba/numba#10128).
"""

from __future__ import annotations

import hashlib
import io
import logging
import os
import pickle
import re
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from numba import config, njit
from numba.core import caching

DIGEST_BYTES = 32  # of SHA-256, in front of what is kept
log = logging.getLogger(__name__)

PACKAGE = __name__.partition(".")[0]
ROOT = Path(__file__).parents[1]

# An import of this library at any place of a file. Imports are absolute here, and name no module at run time but
# those whose kernels have folders of their own; tests/kernels/test_kernel_cache.py compares with the syntax tree.
_IMPORT = re.compile(
    rb"^[ \t]*(?:from[ \t]+(%(us)s[\w.]*)[ \t]+import[ \t]+(?:\(([^)]*)\)|([^\n]*))|import[ \t]+(%(us)s[^\n]*))"
    % {b"us": PACKAGE.encode()},
    re.MULTILINE,
)


def cache_home() -> Path:
    """The folder of all that is kept: NUMBA_CACHE_DIR, or `heatsim` in XDG_CACHE_HOME or ~/.cache.

    For a user without a home it is one that cannot be made, and nothing is kept: in a folder that others may write in,
    they could leave code for this process to run.
    """
    if config.CACHE_DIR:
        return Path(config.CACHE_DIR)
    try:
        home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    except RuntimeError:
        home = Path(os.devnull)
    return home / "heatsim"


@cache
def cache_folder(module: str) -> Path:
    """The folder of the compiled kernels of a module, such as "heatsim_kernels.explicit.cpu.fused_pass".

    A module from elsewhere may import any part of this library: its folder is named after all sources.
    """
    files = sources(module) if module.startswith(f"{PACKAGE}.") else set(ROOT.rglob("*.py"))
    digest = hashlib.sha256()
    for path in sorted(files):
        digest.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + _digest(path))
    return cache_home() / f"kernels-{digest.hexdigest()[:16]}"


def sources(module: str) -> set[Path]:
    """The file of a module of this library and those of all that it imports from this library, in turn."""
    found: set[Path] = set()
    waiting = {module}
    while waiting:
        path = _file(waiting.pop())
        if path is not None and path not in found:
            found.add(path)
            waiting |= imported_modules(path)
    return found


@cache
def imported_modules(path: Path) -> frozenset[str]:
    """The modules of this library that a file imports. Of a package that a name is imported from, `__init__.py` counts
    unless the name is a module itself."""
    modules = set()
    for origin, several, one, whole in _IMPORT.findall(_text(path)):
        modules |= {name.decode() for name in re.findall(rb"%s[\w.]*" % PACKAGE.encode(), whole)}
        for name in re.findall(r"\w+", re.sub(rb"#[^\n]*| as +\w+", b"", several or one).decode()):
            inner = f"{origin.decode()}.{name}"
            modules.add(inner if _file(inner) is not None else origin.decode())
    return frozenset(modules)


@cache
def _file(module: str) -> Path | None:
    """The file of a module or package of this library; None if there is none."""
    path = ROOT.joinpath(*module.split(".")[1:])
    return next((file for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file()), None)


@cache
def _text(path: Path) -> bytes:
    return path.read_bytes()


@cache
def _digest(path: Path) -> bytes:
    return hashlib.sha256(_text(path)).digest()


class SignatureFiles(caching.IndexDataCacheFile):  # type: ignore[misc]  # Numba has no types
    """The compiled signatures of a function on disk, each in a file that is replaced as a whole."""

    def save(self, key: Any, data: Any) -> None:
        """Keep the code of a signature. key: the signature, the processor and the function, as Numba describes them. A
        disk that is full or not ours costs the next process time, no more."""
        content = pickle.dumps((self._version, self._source_stamp)) + self._dump((key, data))
        try:
            with self._open_for_write(self._path_of(key)) as file:
                file.write(hashlib.sha256(content).digest() + content)
        except OSError as error:
            _tell_once(f"{cache_home()}: kernels cannot be kept, so later runs compile them anew: {error.strerror}")

    def load(self, key: Any) -> Any:
        """The code of a signature, or None if there is none of this source and this Numba. Of a file that is damaged
        nothing is used: it is told, and written anew."""
        path = Path(self._path_of(key))
        try:
            content = path.read_bytes()
        except OSError:
            return None
        if hashlib.sha256(content[DIGEST_BYTES:]).digest() != content[:DIGEST_BYTES]:
            log.warning("%s: is damaged; the kernel is compiled anew", path)
            return None
        with io.BytesIO(content[DIGEST_BYTES:]) as file:
            if pickle.load(file) != (self._version, self._source_stamp):
                return None  # read no further: what another Numba has written may not be readable
            found, data = pickle.load(file)
        return data if found == key else None

    def _path_of(self, key: Any) -> str:
        number = int(hashlib.sha256(repr(key).encode()).hexdigest()[:15], 16)
        return str(self._data_path(self._data_name(number)))


@cache
def _tell_once(message: str) -> None:
    log.warning(message)


class _KernelFolder(getattr(caching, "UserProvidedCacheLocator", None) or caching._UserProvidedCacheLocator):  # type: ignore[misc]
    """Numba's folder of a function: that of its module, even where it cannot be written. Numba takes another then, such
    as `__pycache__`, in which a kernel outlives changes of the files that it calls into, and its serial version is
    taken for the parallel one."""

    @classmethod
    def from_function(cls, function: Any, file: str) -> Any:
        return cls(function, file)

    def ensure_cache_path(self) -> None:
        with suppress(OSError):
            Path(self.get_cache_path()).mkdir(parents=True, exist_ok=True)


def jit_with_cache(function: Callable[..., Any], version: str = "", **options: Any) -> Any:
    """Numba's `njit` of a function, kept on disk in `SignatureFiles` of the folder of its module.

    version: a folder in that, for what Numba does not tell apart.
    """
    usual = config.CACHE_DIR, caching.CompileResultCacheImpl._locator_classes
    config.CACHE_DIR = str(cache_folder(function.__module__) / version)
    caching.CompileResultCacheImpl._locator_classes = [_KernelFolder]
    try:
        dispatcher = njit(cache=True, **options)(function)
    finally:
        config.CACHE_DIR, caching.CompileResultCacheImpl._locator_classes = usual
    kept = dispatcher._cache
    files = kept._cache_file
    kept._cache_file = SignatureFiles(files._cache_path, kept._impl.filename_base, files._source_stamp)
    return dispatcher
