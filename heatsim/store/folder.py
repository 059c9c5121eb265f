"""The run folder: where each result lies, how a folder becomes one, and what `--force` may remove."""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heatsim.base.atomic import temporary_name, write_atomically
from heatsim.base.quantity import Quantity
from heatsim.errors import RunFolderError

MARK = "heatsim_run"  # the key of run.json that makes a folder a run folder
LAYOUT = 1
LOCK = "run.lock"  # held by the process that writes in the folder

_FOLDERS = ("snapshots", "slices")
_OPTIONAL_FOLDERS = ("pictures",)  # made when something is put there
_OWN_FILES = re.compile(
    r"run\.(vtkhdf|json|log|lock) | checkpoint(_previous)?\.h5 | packed\.vtkhdf | (geometry|mesh)\.h5 | scenario\.toml"
    r"| snapshots/\d{6,}(\.\d+)?\.h5 | snapshots/\d{6,}\.sha256"
    r"| slices/[^/]+_(\d{6,}|hotspots)\.(png|svg|pdf) | slices/[^/]+/\d{6,}\.h5"
    r"| pictures/[^/]+\.(png|svg|pdf|gif|webp|mp4)",
    re.VERBOSE,
)
_TEMPORARY = re.compile(r"(.*/)?\.([^/]+)\.tmp")
_SLICE_NAME = re.compile(r"\w[\w.+=-]{0,99}")


class _Place:
    """Where a file or a folder of a run lies: an attribute of `RunFolder`."""

    def __init__(self, name: str, about: str) -> None:
        self._name, self.__doc__ = name, about

    def __get__(self, folder: RunFolder, owner: type[RunFolder]) -> Path:
        return folder.path / self._name


@dataclass(frozen=True)
class RunFolder:
    """The files of one run under `path`; relative paths inside it stay valid when the folder is moved.

    goes_on: whether an earlier process began the run, whose results recorders add to.
    """

    path: Path
    goes_on: bool = False

    snapshots = _Place("snapshots", "Folder of the snapshots.")
    slices = _Place("slices", "Folder of the slices: pictures, and a folder of frames for each slice.")
    pictures = _Place("pictures", "Folder of the pictures and movies that commands draw; made with the first of them.")
    series = _Place("run.vtkhdf", "All snapshots as one file, for ParaView and xarray.")
    geometry = _Place("geometry.h5", "Material of each cell.")
    mesh = _Place("mesh.h5", "Points and cells for VTK, where cells are unequal or coordinates cylindrical.")
    probes = _Place("probes.csv", "Temperature at the probes over time.")
    energy = _Place("energy.csv", "Energy ledger over time.")
    regions = _Place("regions.csv", "Temperature and energy of regions over time.")
    results = _Place("results.csv", "The numbers for which the run is made, over time.")
    hotspots = _Place("hotspots.csv", "Hot spots on the slices.")
    scenario = _Place("scenario.toml", "The scenario as run, with defaults filled.")
    info = _Place("run.json", "Versions, device, timings and exit state of the run.")
    log = _Place("run.log", "What the run had to say.")

    @classmethod
    def create(cls, path: Path, force: bool = False, tables: Collection[str] = ()) -> RunFolder:
        """Make a new run folder, with parents.

        A folder that is not empty is refused; with `force` an earlier run in it is removed first, but only
        files that heatsim writes, and only if the folder is a run folder. tables: the names of the tables among
        these. Raises RunFolderError.
        """
        folder = cls(path)
        try:
            if path.is_symlink() or (path.exists() and not path.is_dir()):
                raise RunFolderError(f"{path}: is a file or a link; choose another folder with --output")
            if path.is_dir() and not holds_nothing(path):
                folder._clear(force, tables)
            path.mkdir(parents=True, exist_ok=True)
            folder.write_info({})  # first: a folder without it is left alone by a later run
            for name in _FOLDERS:
                (path / name).mkdir(exist_ok=True)
        except OSError as error:
            raise RunFolderError(f"{path}: cannot be made a run folder: {error.strerror or error}") from None
        return folder

    @classmethod
    def open(cls, path: Path) -> RunFolder:
        """Take an existing run folder. Raises RunFolderError when it is none."""
        folder = cls(path)
        folder.read_info()
        return folder

    @property
    def checkpoints(self) -> tuple[Path, Path]:
        """The last checkpoint, and the one before."""
        return self.path / "checkpoint.h5", self.path / "checkpoint_previous.h5"

    def cut_snapshots(self, count: int) -> None:
        """Remove all snapshots but the first `count`, and the series that refers to them."""
        self.series.unlink(missing_ok=True)
        _remove_from(self.snapshot_paths(), count)
        others = [path for path in self.snapshots.iterdir() if re.fullmatch(r"\d{6,}(\.\d+\.h5|\.sha256)", path.name)]
        for path in others:
            if int(path.name.partition(".")[0]) >= count:
                path.unlink()

    def cut_slice(self, name: str, count: int) -> None:
        """Remove all frames and pictures of a slice but the first `count`."""
        _remove_from(self.slice_frame_paths(name), count)
        pictures = self.slices.glob(f"{_slice_name(name)}_*.png")
        _remove_from([path for path in pictures if re.fullmatch(r"\d{6,}", path.stem[len(name) + 1 :])], count)
        self.hotspot_picture(name).unlink(missing_ok=True)

    def snapshot(self, number: int) -> Path:
        """Snapshot with this running number."""
        return self.snapshots / f"{number:06d}.h5"

    def snapshot_paths(self) -> list[Path]:
        """The snapshots present, in order of their numbers."""
        return _numbered(self.snapshots)

    def slice_frame(self, name: str, number: int) -> Path:
        """Data of one frame of a slice. Raises RunFolderError when `name` cannot be a file name."""
        return self.slices / _slice_name(name) / f"{number:06d}.h5"

    def slice_picture(self, name: str, number: int, kind: str = "png") -> Path:
        """Picture of one frame of a slice. Raises RunFolderError when `name` cannot be a file name."""
        return self.slices / f"{_slice_name(name)}_{number:06d}.{kind}"

    def hotspot_picture(self, name: str) -> Path:
        """Picture of the hot spots on a slice. Raises RunFolderError when `name` cannot be a file name."""
        return self.slices / f"{_slice_name(name)}_hotspots.png"

    def slice_names(self) -> list[str]:
        """Names of the slices with frames, sorted."""
        if not self.slices.is_dir():
            return []
        names = (entry.name for entry in os.scandir(self.slices) if entry.is_dir(follow_symlinks=False))
        return sorted(name for name in names if _SLICE_NAME.fullmatch(name))

    def slice_frame_paths(self, name: str) -> list[Path]:
        """The frames present of the slice `name`, in order of their numbers."""
        return _numbered(self.slices / _slice_name(name))

    def write_info(self, info: Mapping[str, Any]) -> None:
        """Replace run.json by `info` (plain JSON values), atomically. Raises OSError."""
        text = json.dumps({MARK: LAYOUT, **info}, indent=2, ensure_ascii=False)
        write_atomically(self.info, f"{text}\n".encode())

    def read_info(self) -> dict[str, Any]:
        """Read what `write_info` wrote. Raises RunFolderError when run.json is missing or not heatsim's."""
        try:
            info = json.loads(self.info.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            info = None
        if not isinstance(info, dict) or MARK not in info:
            if (self.path / "sweep.json").is_file():
                raise RunFolderError(f"{self.path}: holds a sweep; name one of its runs, such as {self.path / '0000'}")
            if self.path.suffix == ".toml" and self.path.is_file():
                raise RunFolderError(f"{self.path}: is a scenario; name the folder of its run")
            why = "it has no run.json by heatsim" if self.path.exists() else "there is no such folder"
            raise RunFolderError(f"{self.path}: is not a heatsim run folder ({why})")
        del info[MARK]
        return info

    def read_quantity(self) -> Quantity:
        """The quantity that the run solved for. Raises as `read_info`."""
        return Quantity.of_run(self.read_info())

    def read_scenario(self) -> dict[str, Any]:
        """The tables of scenario.toml as they stand, with all defaults. Raises RunFolderError where there are none."""
        try:
            return tomllib.loads(self.scenario.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            raise RunFolderError(f"{self.scenario}: is not a readable scenario") from None

    def _clear(self, force: bool, tables: Collection[str]) -> None:
        """Remove an earlier run, run.json last so that an interrupted removal can be repeated."""
        if not force:
            raise RunFolderError(
                f"{self.path}: is not empty; --force replaces the run in it, --output chooses another folder"
            )
        try:
            self.read_info()
        except RunFolderError as error:
            raise RunFolderError(f"{error}, so --force leaves it alone; choose another with --output") from None
        for name in (*_FOLDERS, *_OPTIONAL_FOLDERS):
            _remove_own(self.path, name, tables)
        _remove_own(self.path, "", tables)
        self.info.unlink(missing_ok=True)


def holds_nothing(folder: Path, info: str = "run.json") -> bool:
    """Whether a folder is empty but for what a process leaves that dies before its first file, `info`, stands."""
    return all(entry.name in (LOCK, temporary_name(Path(info)).name) for entry in folder.iterdir())


def _remove_own(root: Path, folder: str, tables: Collection[str]) -> None:
    """Remove heatsim's own files in `root/folder` and the folders left empty, following no link."""
    place = root / folder
    if folder and place.is_symlink():
        place.unlink()
    if not place.is_dir():
        return
    for entry in list(os.scandir(place)):
        name = f"{folder}/{entry.name}".lstrip("/")
        if entry.is_dir(follow_symlinks=False):
            if folder == "slices":
                _remove_own(root, name, tables)
        elif _is_own(name, tables) and name != "run.json":
            Path(entry.path).unlink()
    if folder and not any(place.iterdir()):
        place.rmdir()


def _is_own(name: str, tables: Collection[str]) -> bool:
    temporary = _TEMPORARY.fullmatch(name)
    if temporary:
        name = f"{temporary[1] or ''}{temporary[2]}"
    return name in tables or _OWN_FILES.fullmatch(name) is not None


def _remove_from(paths: Collection[Path], count: int) -> None:
    """Remove files that are numbered from `count` on."""
    for path in paths:
        if int(path.stem.rpartition("_")[2]) >= count:
            path.unlink()


def _numbered(folder: Path) -> list[Path]:
    return sorted(
        (path for path in folder.glob("*.h5") if re.fullmatch(r"\d{6,}", path.stem)),
        key=lambda path: int(path.stem),
    )


def _slice_name(name: str) -> str:
    if not _SLICE_NAME.fullmatch(name):
        raise RunFolderError(f"slice name {name!r}: letters, digits and _ . + = - were expected")
    return name


try:
    import fcntl
except ImportError:  # Windows: no lock
    fcntl = None  # type: ignore[assignment]


@contextmanager
def locked_folder(path: Path) -> Iterator[None]:
    """Hold the lock of a folder, which is made if need be. Raises RunFolderError where another process holds it.

    A folder that is no run folder and not empty is left alone: nobody writes in it.
    """
    ours = not path.exists() or (path.is_dir() and ((path / "run.json").is_file() or holds_nothing(path)))
    if fcntl is None or path.is_symlink() or not ours:
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
