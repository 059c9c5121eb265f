"""The documentation site builds without a warning, needs no network, and has no link that leads nowhere."""

from __future__ import annotations

import json
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
NOTEBOOK = ROOT / "docs" / "examples" / "notebook.ipynb"
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


def test_the_notebook_is_a_page_and_is_kept_without_outputs(site: Path) -> None:
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    assert [each for each in cells if each.get("outputs") or each.get("execution_count")] == []
    page = (site / "examples" / "notebook.html").read_text(encoding="utf-8")
    assert page.count('class="cell docutils') == sum(each["cell_type"] == "code" for each in cells)


@pytest.mark.long
def test_the_notebook_runs_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.delenv("PYTHONWARNINGS", raising=False)
    notebook = nbformat.read(NOTEBOOK, 4)
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert sum("image/png" in output.get("data", {}) for output in outputs) == 4
    told = "".join(output.get("text", "") for output in outputs)
    assert "h = 32.3 W/(m2 K), k = 17.0 W/(m K)" in told
    assert "\x1b" not in told  # codes of a terminal, which a notebook does not have
    assert (tmp_path / "plate.html").is_file()


def test_every_shipped_scenario_is_in_the_gallery_with_its_file(site: Path) -> None:
    for scenario in (ROOT / "scenarios").glob("*.toml"):
        page = site / "gallery" / f"plot_{scenario.stem}.html"
        files = [page.parent / each for each in references(page) if each.endswith(f"{scenario.name}")]
        assert files, page
        assert files[0].resolve().read_bytes() == scenario.read_bytes()
