"""The gallery of the site: one example a shipped scenario, written anew from the head of its file at every build.

sphinx-gallery runs the examples. Each gives the pictures that the run drew, and the file to download. Its first picture
is that of the overview of all examples: what a slice shows when it tells most, without title, axes and scale.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

ROOT = Path(__file__).parents[1]
SCENARIOS = ROOT / "scenarios"
MAX_PICTURES = 3  # of an example, beside its preview
THUMBNAIL = 4.0, 2.8  # in, at most
# What the documents show of the gallery: picture of the documents -> scenario, and the picture of its run.
IMAGES = {
    "quick_start.png": ("quick_start", "slices/z_0.001_*.png"),
    "chip_overview.png": ("chip_under_lid", "pictures/overview.png"),
    "heat_sink_preview.png": ("heat_sink", "preview.png"),
    "hot_spots.png": ("hot_spots", "slices/z_0.0008_hotspots.png"),
}

EXAMPLE = '''"""
{title}
{underline}

{text}

:download:`{name}.toml <../../scenarios/{name}.toml>`
"""

import heatsim

run = heatsim.run(heatsim.load("scenarios/{name}.toml"), "{output}", force=True)
run
'''


class Head(NamedTuple):
    """The head of a scenario file: its title, and its comment by paragraphs."""

    title: str
    paragraphs: tuple[str, ...]


def read_head(path: Path) -> Head:
    """The head of a scenario file."""
    text = path.read_text(encoding="utf-8")
    title = re.search(r'^title = "(.*)"', text, re.MULTILINE)
    lines: list[str] = []
    for line in text.splitlines()[1:]:  # the first one names the schema
        if not line.startswith("#"):
            break
        lines.append(line.removeprefix("#").strip())
    parts = re.split(r"\s*(?=\bLook at: |\bExpect: )|\n\n", "\n".join(lines))
    return Head(title[1] if title else path.stem, tuple(" ".join(part.split()) for part in parts if part.strip()))


def as_rst(paragraph: str) -> str:
    """A paragraph of a comment as reStructuredText."""
    label, colon, rest = paragraph.partition(":")
    if label not in ("Look at", "Expect"):
        label, colon, rest = "", "", paragraph
    return (f"**{label}:**" if colon else "") + re.sub(r"([\\*`|_])", r"\\\1", rest)


def write_examples(folder: Path, outputs: Path) -> None:
    """Write the examples, one a scenario, into a folder."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    # sphinx-gallery runs an example in its folder, and takes a folder with a README for a gallery.
    shutil.copytree(SCENARIOS, folder / "scenarios", ignore=shutil.ignore_patterns("README.md", "verify", "materials"))
    introduction = "Gallery\n=======\n\nThe scenarios that come with heatsim, each run for this page. "
    introduction += "Download a file and run it with ``heatsim run FILE``.\n"
    (folder / "GALLERY_HEADER.rst").write_text(introduction, encoding="utf-8")
    for path in sorted(SCENARIOS.glob("*.toml")):
        head = read_head(path)
        example = EXAMPLE.format(
            title=head.title,
            underline="=" * len(head.title),
            text="\n\n".join(map(as_rst, head.paragraphs)),
            name=path.stem,
            output=(outputs / path.stem).as_posix(),
        )
        (folder / f"plot_{path.stem}.py").write_text(example, encoding="utf-8")


class RunPictures:
    """Gives sphinx-gallery the pictures of the run that an example made."""

    def __repr__(self) -> str:
        return "RunPictures"  # sphinx-gallery looks whether its configuration has changed

    def __call__(self, block: Any, variables: dict[str, Any], configuration: dict[str, Any]) -> str:
        """The pictures of a block, as reStructuredText."""
        from sphinx_gallery.scrapers import figure_rst

        run = variables["example_globals"].get("run")
        if run is None:
            return ""
        taken, targets = [], iter(variables["image_path_iterator"])
        draw_thumbnail(run.path, Path(next(targets)))
        for source, target in zip(pictures_of(run.path), targets, strict=False):
            shutil.copy(source, target)
            taken.append(target)
        return str(figure_rst(taken, configuration["src_dir"]))


def pictures_of(run: Path) -> Iterator[Path]:
    """The pictures of a run that tell most: of each slice that with the greatest spread, hot spots first; and its
    overview."""
    from click.testing import CliRunner

    from heatsim.cli.main import main

    slices = run / "slices"
    found = sorted(slices.glob("*_hotspots.png"))
    for _, frame in telling_frames(run):
        found += slices.glob(f"{frame.parent.name}_{frame.stem}.png")
    yield from found[:MAX_PICTURES]
    CliRunner().invoke(main, ["plot", str(run), "--overview"])
    yield from (run / "pictures").glob("overview.png")


def telling_frames(run: Path) -> list[tuple[float, Path]]:
    """Of each slice of a run the frame that tells most, with the spread of what is solved in it."""
    from heatsim.output.pictures.frames import plane_materials
    from heatsim.output.viewer.frames import most_telling
    from heatsim.store.folder import RunFolder
    from heatsim.store.slice_frames import read_slice_frame

    found = []
    for folder in sorted(path for path in (run / "slices").iterdir() if path.is_dir()):
        paths, spreads = sorted(folder.glob("*.h5")), []
        for path in paths:
            frame = read_slice_frame(path)
            materials = plane_materials(RunFolder.open(run), frame.normal, frame.position)
            values = frame.field if materials is None else frame.field[~materials.void]
            spreads.append(float(np.nanmax(values) - np.nanmin(values)) if values.size else 0.0)
        start = int(len(paths) > 1 and read_slice_frame(paths[0]).time == 0.0)  # which no run has computed
        best = start + most_telling(spreads[start:])
        found.append((spreads[best], paths[best]))
    return found


def draw_thumbnail(run: Path, target: Path) -> None:
    """Draw a slice of a run when it tells most, and nothing beside its cells and outlines; of a field along a line, its
    curve. Of the slices in which the field spreads most, within a factor of two, it is the one that fills the picture
    best."""
    from matplotlib.figure import Figure

    from heatsim.output.pictures.frames import fit_to_page, plane_materials, plane_style
    from heatsim.output.pictures.options import PictureOptions
    from heatsim.output.pictures.plane_view import PlaneView, extent_faces
    from heatsim.output.pictures.slices import box_size
    from heatsim.store.folder import RunFolder
    from heatsim.store.slice_frames import read_slice_frame

    options, found = PictureOptions(contours=False), telling_frames(run)
    shown = []
    for spread, path in found:
        frame = read_slice_frame(path)
        materials = plane_materials(RunFolder.open(run), frame.normal, frame.position)
        if 2.0 * spread >= max(each for each, _ in found):
            shown.append(fit_to_page(frame, options, materials))
    frame, field, faces, overlay = max(shown, key=lambda each: np.prod(box_size(each[0].extent, THUMBNAIL)))
    line = 1 in field.shape
    figure = Figure(figsize=THUMBNAIL if line else box_size(frame.extent, THUMBNAIL))
    axes = figure.add_axes((0.03, 0.03, 0.94, 0.94) if line else (0, 0, 1, 1))
    if line:
        rows, columns = faces or extent_faces(field.shape, frame.extent)
        places = rows if field.shape[1] == 1 else columns
        axes.plot(0.5 * (places[1:] + places[:-1]), field.ravel(), color="#b5343c", lw=2.5)
    else:
        view = PlaneView(axes, field, frame.extent, plane_style(frame, ""), faces, overlay.materials)
        view.show(field, [])
    axes.set_axis_off()
    figure.savefig(target, dpi=100)


def update_images(outputs: Path, images: Path) -> None:
    """Take the pictures of the documents from the runs of the gallery."""
    from click.testing import CliRunner

    from heatsim.cli.main import main

    for name, (scenario, pattern) in IMAGES.items():
        run = outputs / scenario
        if pattern == "preview.png":
            file = str(SCENARIOS / f"{scenario}.toml")
            CliRunner().invoke(main, ["preview", file, "--output", str(run / pattern)])
        *_, last = sorted(run.glob(pattern))
        shutil.copy(last, images / name)
