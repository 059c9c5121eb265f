"""The gallery of the site: one example a shipped scenario, written anew from the head of its file at every build.

sphinx-gallery runs the examples. Each gives the pictures that the run drew, and the file to download.
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
SAME = 0.98  # of the greatest spread of a slice: the last such frame is shown
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
        taken = []
        for source, target in zip(pictures_of(run.path), variables["image_path_iterator"], strict=False):
            shutil.copy(source, target)
            taken.append(target)
        return str(figure_rst(taken, configuration["src_dir"]))


def pictures_of(run: Path) -> Iterator[Path]:
    """The pictures of a run that tell most: of each slice that with the greatest spread, hot spots first; and its
    overview."""
    from click.testing import CliRunner

    from heatsim.cli.main import main
    from heatsim.store.slice_frames import read_slice_frame

    slices = run / "slices"
    found = sorted(slices.glob("*_hotspots.png"))
    for folder in sorted(path for path in slices.iterdir() if path.is_dir()):
        frames = sorted(folder.glob("*.h5"))
        spreads = [float(np.nanmax(field) - np.nanmin(field)) for field in (read_slice_frame(f).field for f in frames)]
        best = max(n for n, spread in enumerate(spreads) if spread >= SAME * max(spreads))
        found += slices.glob(f"{folder.name}_{frames[best].stem}.png")
    yield from found[:MAX_PICTURES]
    CliRunner().invoke(main, ["plot", str(run), "--overview"])
    yield from (run / "pictures").glob("overview.png")


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
