"""The site: `make docs`. The pages stay plain Markdown, which reads well without it."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
ROOT = DOCS.parent
sys.path[:0] = [str(DOCS), str(ROOT), str(ROOT / "kernels")]

import gallery  # noqa: E402 (it lies beside this file)

from heatsim import __version__  # noqa: E402

project = "heatsim"
author = "The heatsim developers"
version = release = __version__
extensions = ["myst_nb", "sphinx_gallery.gen_gallery", "sphinx_copybutton"]
exclude_patterns = [
    "gallery/scenarios",
    "gallery/*.md5",
    "gallery/*.py",
    "gallery/*.ipynb",
    "gallery/*.zip",
    "gallery/*.json",
    "sg_execution_times.rst",
]
html_theme = "furo"
html_title = f"heatsim {__version__}"
templates_path: list[str] = []
nitpicky = True

myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]
suppress_warnings = ["config.cache"]

# Notebooks are kept without outputs, and executed here, each in a folder of its own.
nb_execution_mode = "off" if os.environ.get("HEATSIM_GALLERY") == "none" else "force"
nb_execution_in_temp = True
nb_execution_timeout = 300  # s, of a cell
nb_execution_raise_on_error = True
nb_merge_streams = True
os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"  # where heatsim is

OUTPUTS = ROOT / "build" / "gallery_runs"
EXAMPLES = ROOT / "build" / "gallery_examples"
gallery.write_examples(EXAMPLES, OUTPUTS)
sphinx_gallery_conf = {
    "examples_dirs": str(EXAMPLES),
    "gallery_dirs": "gallery",
    "plot_gallery": os.environ.get("HEATSIM_GALLERY") != "none",  # then no scenario is run
    "filename_pattern": "/plot_",
    "image_scrapers": (gallery.RunPictures(),),
    "reset_modules": (),
    "download_all_examples": False,
    "show_signature": False,
    "remove_config_comments": True,
    "within_subsection_order": "FileNameSortKey",
    "write_computation_times": False,
    "abort_on_example_error": True,
}

# The tables of docs/index.md, as the contents of the site.
CONTENTS = {
    "": "getting-started examples/notebook",
    "Guide": "guide/geometry guide/materials guide/boundaries guide/sources guide/quantities guide/time "
    "guide/results guide/pictures guide/hotspots guide/running guide/programs guide/sweeps guide/impedance guide/chips "
    "guide/effective guide/clusters guide/trust guide/gpu guide/verification guide/benchmarks",
    "Gallery": "gallery/index",
    "Reference": "reference/scenario reference/results reference/cli reference/python glossary",
    "Methods": "methods/discretisation methods/integrators methods/multigrid methods/kernels methods/convolution",
    "Developing": "architecture",
    "Reports": " ".join(f"reports/{path.stem}" for path in sorted((DOCS / "reports").glob("*.md"))),
}
LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(((?:\.\./)+[^)#\s]+)\)")


def contents() -> str:
    """The tables of contents, hidden on the page itself."""
    parts = []
    for caption, pages in CONTENTS.items():
        options = [":hidden:", *([f":caption: {caption}"] if caption else [])]
        parts.append("\n".join(["```{toctree}", *options, "", *pages.split(), "```"]))
    return "\n\n".join(parts)


def prepare(app: Any, name: str, source: list[str]) -> None:
    """Add the contents to the first page, and let links to files beside the documents, and those that say so, download
    these."""
    if name == "index":
        source[0] += "\n\n" + contents()
    place = (DOCS / name).parent

    def changed(link: re.Match[str]) -> str:
        target = (place / link[2]).resolve()
        if target.is_relative_to(DOCS) and not link[1].startswith("download"):
            return link[0]
        return f"{{download}}`{link[1]} <{link[2]}>`" if target.is_file() else link[1]

    source[0] = LINK.sub(changed, source[0])


def finish(app: Any, error: Exception | None) -> None:
    """Take the pictures of the documents from the gallery, if that is asked for."""
    if error is None and os.environ.get("HEATSIM_UPDATE_IMAGES"):
        gallery.update_images(OUTPUTS, DOCS / "images")


def setup(app: Any) -> None:
    """Connect what is above to Sphinx."""
    app.connect("source-read", prepare)
    app.connect("build-finished", finish)
