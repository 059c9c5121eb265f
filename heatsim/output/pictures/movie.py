"""Movies of a plane over time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from heatsim.errors import RequestError
from heatsim.output.pictures.frames import Tell, draw_frames
from heatsim.output.pictures.options import PictureOptions
from heatsim.output.pictures.planes import PlaneSource, draw_planes
from heatsim.store.animations import require_movie_format, write_movie
from heatsim.store.folder import RunFolder

Progress = Callable[[float], None]  # called with the part that is done
_DRAWING = 0.7  # of the time of a movie goes into drawing


class KeptSlice(NamedTuple):
    """A slice that a run kept."""

    folder: RunFolder
    name: str


def make_movie(
    path: Path,
    shown: KeptSlice | PlaneSource,
    options: PictureOptions,
    fps: float,
    tell: Tell,
    progress: Progress = lambda part: None,
) -> int:
    """Write a movie of a kept slice, or of a plane through all snapshots; returns the number of its frames.

    Raises OSError; RequestError where there are fewer than two times, or the format cannot be written.
    """
    require_movie_format(path.suffix[1:].lower())
    if not path.parent.is_dir():
        raise FileNotFoundError(2, "No such file or directory", str(path))
    with TemporaryDirectory(prefix="heatsim-movie-") as place:
        target = Path(place)
        pictures = _draw(shown, target, options, tell, progress)
        if len(pictures) < 2:
            raise RequestError(f"a movie needs two times, and there is {len(pictures)}")
        write_movie(path, pictures, fps, lambda done: progress(_DRAWING + (1 - _DRAWING) * done / len(pictures)))
    return len(pictures)


def _draw(
    shown: KeptSlice | PlaneSource, target: Path, options: PictureOptions, tell: Tell, progress: Progress
) -> list[Path]:
    if isinstance(shown, KeptSlice):
        count = len(shown.folder.slice_frame_paths(shown.name))

        def place(number: int) -> Path:
            progress(_DRAWING * number / count)
            return target / f"{number:06d}.png"

        return draw_frames(shown.folder, shown.name, options, tell, place)
    snapshots = shown.reader.snapshots

    def drawn(number: int) -> None:
        progress(_DRAWING * number / len(snapshots))

    places = [(header, target / f"{number:06d}.png") for number, header in enumerate(snapshots)]
    return draw_planes(shown, places, options, tell, drawn)
