"""Movies from pictures: GIF and WebP by Pillow, MP4 (H.264) by PyAV, which the extra `movie` installs."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from PIL import Image

from heatsim.base.atomic import temporary_name, write_atomically
from heatsim.errors import RequestError

MOVIE_FORMATS = ("gif", "webp", "mp4")

_PALETTE_FRAMES = 6  # from which the colours of a GIF are taken
_HOLD = 8  # times as long as others the last frame of an endless movie stays


def write_movie(
    path: Path, pictures: Sequence[Path], fps: float, done: Callable[[int], None] = lambda count: None
) -> None:
    """Write PNG pictures, all of the size of the first, as a movie of `fps` frames a second; `path` says the format.

    done: called with how many frames have been written. Raises OSError; RequestError where MP4 cannot be written.
    """
    kind = path.suffix[1:].lower()
    if kind == "webp":
        _save(path, _frames(pictures, done), fps, len(pictures), format="WEBP", quality=85, method=2)
    else:
        {"gif": _write_gif, "mp4": _write_mp4}[kind](path, pictures, fps, done)


def require_movie_format(kind: str) -> None:
    """Raise RequestError for a format that cannot be written here."""
    if kind == "mp4":
        _import_av()


def _frames(pictures: Sequence[Path], done: Callable[[int], None]) -> Iterator[Image.Image]:
    size: tuple[int, int] | None = None
    for number, picture in enumerate(pictures, 1):
        with Image.open(picture) as image:
            frame = image.convert("RGB")
        size = size or frame.size
        if frame.size != size:  # a title of another number of lines
            page = Image.new("RGB", size, frame.getpixel((0, 0)))
            page.paste(frame)
            frame = page
        yield frame
        done(number)


def _write_gif(path: Path, pictures: Sequence[Path], fps: float, done: Callable[[int], None]) -> None:
    """One palette for all frames, so that nothing flickers."""
    chosen = pictures[:: -(-len(pictures) // _PALETTE_FRAMES)]
    samples = list(_frames(chosen, lambda count: None))
    width, height = samples[0].size
    sheet = Image.new("RGB", (width, height * len(samples)))
    for number, sample in enumerate(samples):
        sheet.paste(sample, (0, number * height))
    palette = sheet.reduce(2).quantize(255, Image.Quantize.MEDIANCUT)
    frames = (frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in _frames(pictures, done))
    _save(path, frames, fps, len(pictures), format="GIF", disposal=1, optimize=False)


def _save(path: Path, frames: Iterator[Image.Image], fps: float, count: int, **options: Any) -> None:
    each = max(20, round(1000 / fps))  # ms; browsers slow down what is faster
    durations = [each] * (count - 1) + [_HOLD * each]
    image = io.BytesIO()
    first = next(frames)
    first.save(image, save_all=True, append_images=frames, duration=durations, loop=0, **options)
    write_atomically(path, image.getbuffer())


def _import_av() -> Any:
    try:
        import av
    except ImportError:
        raise RequestError("MP4 needs PyAV: pip install 'heatsim[movie]', or take --format webp") from None
    return av


def _write_mp4(path: Path, pictures: Sequence[Path], fps: float, done: Callable[[int], None]) -> None:
    av = _import_av()
    temporary = temporary_name(path)
    try:
        with av.open(str(temporary), "w", format="mp4", options={"movflags": "faststart"}) as file:
            stream = file.add_stream("libx264", rate=Fraction(fps).limit_denominator(1000))
            stream.pix_fmt = "yuv420p"
            stream.options = {"crf": "18", "preset": "veryfast"}
            for frame in _frames(pictures, done):
                if not file.streams.video[0].codec_context.is_open:  # 4:2:0 takes even sizes
                    stream.width, stream.height = (length - length % 2 for length in frame.size)
                cut = frame.crop((0, 0, stream.width, stream.height))
                file.mux(stream.encode(av.VideoFrame.from_image(cut)))
            file.mux(stream.encode())
        temporary.replace(path)
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(path)) from None
    finally:
        temporary.unlink(missing_ok=True)
