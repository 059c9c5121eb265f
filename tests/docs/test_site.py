"""The documentation site builds without a warning, needs no network, and has no link that leads nowhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote

import pytest
from helpers.chromium import Browser, needs_chromium

ROOT = Path(__file__).parents[2]
pytestmark = [
    pytest.mark.skipif(find_spec("sphinx") is None, reason="Sphinx is not installed"),
    pytest.mark.xdist_group("site"),
]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site without pictures in its gallery, for which scenarios would have to run: `make docs` does that."""
    target = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", "docs", str(target)]
    environment = {**os.environ, "HEATSIM_GALLERY": "none"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return target


def references(page: Path) -> Iterator[str]:
    """What a page links to or loads."""
    text = page.read_text(encoding="utf-8")
    yield from re.findall(r'(?:href|src)="([^"]+)"', text)


def test_every_link_within_the_site_leads_somewhere(site: Path) -> None:
    missing = []
    for page in site.rglob("*.html"):
        for reference in references(page):
            path, _, anchor = unquote(reference).partition("#")
            if re.match(r"[a-z]+:", reference) or path.startswith("?"):
                continue
            target = (page.parent / path.partition("?")[0]).resolve() if path else page
            if not target.exists() or (
                anchor and target.suffix == ".html" and f'id="{anchor}"' not in target.read_text()
            ):
                missing.append(f"{page.relative_to(site)}: {reference}")
    assert not missing


def test_nothing_is_loaded_from_the_network(site: Path) -> None:
    elsewhere = r'="(?:https?:)?//'
    loaded = re.compile(rf'<(?:script|img|iframe)[^>]*src{elsewhere}|<link[^>]*rel="stylesheet"[^>]*href{elsewhere}')
    assert [page.name for page in site.rglob("*.html") if loaded.search(page.read_text(encoding="utf-8"))] == []


@needs_chromium
def test_the_search_works_from_the_disk_with_the_network_off(site: Path) -> None:
    with Browser() as browser:
        browser.open((site / "search.html").as_uri() + "?q=convection")
        browser.wait_for("document.querySelectorAll('#search-results li').length > 2")
        # Results are listed one after another.
        browser.wait_for("document.getElementById('search-results').textContent.includes('Boundary conditions')")


def test_every_shipped_scenario_is_in_the_gallery_with_its_file(site: Path) -> None:
    for scenario in (ROOT / "scenarios").glob("*.toml"):
        page = site / "gallery" / f"plot_{scenario.stem}.html"
        files = [page.parent / each for each in references(page) if each.endswith(f"{scenario.name}")]
        assert files, page
        assert files[0].resolve().read_bytes() == scenario.read_bytes()
