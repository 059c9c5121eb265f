"""The page in a headless Chromium, opened from the disk with the network off."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import h5py
import numpy as np
import pytest
from click.testing import CliRunner
from helpers.chromium import Browser, needs_chromium
from PIL import Image

from heatsim.cli.main import main
from heatsim.simulation.run import Run

pytestmark = [needs_chromium, pytest.mark.xdist_group("browser")]
# The upper left of the section, beside the cross-hair in the middle.
PIXELS = """(() => {
  const { canvas, place } = heatsim.sections.find((each) => each.normal === 2);
  const { left, top, width, height } = place;
  return Array.from(canvas.getContext('2d').getImageData(left, top, width / 3, height / 3).data);
})()"""
# Where the volume is not empty: the mean place of its pixels, from -1 to 1 to the right and up, by opacity.
CENTRE = """(() => {
  const { volume } = heatsim, { gl } = volume, { width, height } = volume.canvas;
  const data = new Uint8Array(4 * width * height);
  volume.renderEdges = () => {};
  volume.render(200);
  gl.readPixels(0, 0, width, height, gl.RGBA, gl.UNSIGNED_BYTE, data);
  let [sum, x, y] = [0, 0, 0];
  for (let i = 0; i < width * height; i++) {
    const a = data[4 * i + 3];
    sum += a; x += a * ((i % width) + 0.5); y += a * (Math.floor(i / width) + 0.5);
  }
  return [sum / 255, 2 * x / sum / width - 1, 2 * y / sum / height - 1, ...volume.size, width / height];
})()"""


@pytest.fixture(scope="module")
def page(run_of_a_ball: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    target = tmp_path_factory.mktemp("pages") / "page.html"
    assert CliRunner().invoke(main, ["view", str(run_of_a_ball), "--output", str(target)]).exit_code == 0
    with Browser() as browser:
        browser.open(target.as_uri())
        browser.wait_for("window.heatsim && heatsim.frames.length === 5")
        yield browser
        assert browser.messages == []


def snapshot(run: Path, number: int) -> np.ndarray:
    with h5py.File(run / "snapshots" / f"{number:06d}.h5") as file:
        return np.asarray(file["temperature"][()])


def test_the_readout_is_the_snapshot_to_its_last_digit(page: Browser, run_of_a_ball: Path) -> None:
    chosen = np.random.default_rng(3)
    for _ in range(20):
        number, x, y, z = (int(chosen.integers(n)) for n in (5, 24, 20, 14))
        page.evaluate(f"heatsim.setFrame({number})")
        for axis, cell in enumerate((x, y, z)):
            page.evaluate(f"heatsim.moveCursor({axis}, {cell} - heatsim.cell[{axis}])")
        page.evaluate("heatsim.draw()")
        shown, unit = page.evaluate("document.getElementById('value').textContent").split()
        last_digit = 10.0 ** -len(shown.partition(".")[2])
        assert unit == "K"
        assert abs(float(shown) - snapshot(run_of_a_ball, number)[z, y, x]) <= last_digit
        assert last_digit <= 0.01
        assert "steel" in page.evaluate("document.getElementById('place').textContent")


def test_the_slider_moves_pixels(page: Browser) -> None:
    pictures = []
    page.evaluate("[0, 1, 2].forEach((axis) => heatsim.setCursor(axis, heatsim.placeAt(axis, 0.5)))")
    for number in (0, 4, 0):
        page.evaluate(
            f"(() => {{ const time = document.getElementById('time'); time.value = {number};"
            "time.dispatchEvent(new Event('input')); heatsim.draw(); })()"
        )
        pictures.append(np.array(page.evaluate(PIXELS)))
    assert np.array_equal(pictures[0], pictures[2])
    assert not np.array_equal(pictures[0], pictures[1])


def test_a_click_in_a_section_moves_the_others(page: Browser) -> None:
    page.evaluate("heatsim.draw()")
    place = page.evaluate(
        "(() => { const s = heatsim.sections.find((each) => each.normal === 2), "
        "b = s.canvas.getBoundingClientRect(); return [b.left + s.place.left + 0.25*s.place.width, "
        "b.top + s.place.top + 0.5*s.place.height]; })()"
    )
    for kind in ("mousePressed", "mouseReleased"):
        page.send("Input.dispatchMouseEvent", type=kind, x=place[0], y=place[1], button="left", clickCount=1)
    x, y, _ = page.evaluate("heatsim.cursor")
    assert (x, y) == pytest.approx((6.0, 10.0), abs=0.2)  # mm
    page.evaluate("heatsim.draw()")
    assert page.evaluate("document.querySelector('#section-x figcaption').textContent").startswith("x = 6.0")
    # Where the cross-hair is in the air, its own temperature is told, and the profile has a gap.
    page.evaluate("heatsim.setCursor(2, 15.5)")
    page.evaluate("heatsim.draw()")
    assert page.evaluate("document.getElementById('value').textContent") == "280.00 K"


def test_scales_have_two_ticks_at_least(page: Browser) -> None:
    """A chart of 150 to 860 degC had one, "500.000"."""
    assert page.evaluate("[ticks(150, 860, 2).length >= 2, digitsOf(ticks(150, 860, 2))]") == [True, 0]


def test_the_colour_bar_keeps_its_shape_when_controls_take_room(page: Browser) -> None:
    """Its letters were squeezed until the next click."""
    shown = "document.getElementById('shown')"
    bar = "document.querySelector('#scale canvas')"
    for choice in ("hot", "body"):
        page.evaluate(f"({shown}.value = '{choice}', {shown}.dispatchEvent(new Event('input')))")
        page.wait_for("heatsim.waiting === null")
        assert page.evaluate(f"Math.abs({bar}.height - {bar}.getBoundingClientRect().height) < 1")


def test_keys_play_and_step(page: Browser) -> None:
    page.evaluate("heatsim.setFrame(1)")
    for key, number in ((".", 2), (",", 1)):
        page.send("Input.dispatchKeyEvent", type="keyDown", key=key, text=key)
        assert page.evaluate("heatsim.number") == number
    page.send("Input.dispatchKeyEvent", type="keyDown", key=" ", text=" ")
    page.wait_for("heatsim.number !== 1")
    page.send("Input.dispatchKeyEvent", type="keyDown", key=" ", text=" ")
    assert page.evaluate("heatsim.timer === undefined")


@pytest.mark.parametrize(("shown", "x", "z"), [("hot", 6.0, 8.0), ("surface", 6.0, 8.0), ("body", 12.0, 7.0)])
def test_the_volume_shows_things_where_they_are(page: Browser, shown: str, x: float, z: float) -> None:
    """Seen along y, x is to the right and z up: the hot ball, and the body without the air above it."""
    assert page.evaluate("document.getElementById('shown').value") == "body" or shown != "hot"  # at first
    page.evaluate(
        f"(() => {{ heatsim.setFrame(0); heatsim.setRange('run'); heatsim.volume.yaw = 0;"
        f"heatsim.volume.pitch = 0; document.getElementById('shown').value = '{shown}'; }})()"
    )
    opaque, right, up, wide, _, high, ratio = page.evaluate(CENTRE)
    half = 0.62 * float(np.hypot(np.hypot(wide, page.evaluate("heatsim.volume.size[1]")), high))
    across, along = (half * ratio, half) if ratio > 1 else (half, half / ratio)
    assert opaque > 50.0
    assert right * across == pytest.approx((x - 12.0) / 24.0, abs=0.02)
    assert up * along == pytest.approx((z - 8.0) / 24.0, abs=0.02 if shown != "body" else 0.005)
    page.evaluate("heatsim.draw()")
    told = page.evaluate("document.getElementById('threshold-shown').textContent").split()
    scale = page.evaluate("[heatsim.scale.low, heatsim.scale.high]")
    assert (float(told[0]), told[1]) == (pytest.approx(scale[0] + 0.35 * (scale[1] - scale[0]), abs=0.06), "K")


def test_a_picture_is_saved_of_all_that_is_shown(page: Browser) -> None:
    found = page.evaluate(
        "(() => { const p = heatsim.picture(); return [p.width, p.height, p.toDataURL().length]; })()"
    )
    assert found[0] >= 1000
    assert found[2] > 20_000


def test_a_notebook_shows_the_page_in_a_frame(run_of_a_ball: Path, tmp_path: Path) -> None:
    notebook = tmp_path / "notebook.html"
    notebook.write_text(f"<!doctype html><body>{Run(run_of_a_ball, {}).view()._repr_html_()}</body>", encoding="utf-8")
    with Browser() as browser:
        browser.open(notebook.as_uri())
        browser.wait_for("document.readyState === 'complete'")
        # The frame is of another origin, so what it shows is all that can be asked for.
        browser.screenshot(tmp_path / "before.png")
        end = time.monotonic() + 30.0
        while is_blank(tmp_path / "before.png") and time.monotonic() < end:
            browser.screenshot(tmp_path / "before.png")
        assert not is_blank(tmp_path / "before.png")
        assert browser.messages == []


def test_a_narrow_page_of_one_time_and_a_page_that_opens_later(run_of_a_ball: Path, tmp_path: Path) -> None:
    run = shutil.copytree(run_of_a_ball, tmp_path / "run")
    for number in range(4):
        (run / "snapshots" / f"{number:06d}.h5").unlink()
    target = tmp_path / "page.html"
    assert CliRunner().invoke(main, ["view", str(run), "--output", str(target)]).exit_code == 0
    with Browser() as browser:
        browser.send("Emulation.setDeviceMetricsOverride", width=400, height=800, deviceScaleFactor=1, mobile=True)
        browser.open(target.as_uri())
        browser.wait_for("window.heatsim && heatsim.frames.length === 1 && heatsim.chart")
        assert browser.evaluate("document.documentElement.scrollWidth") == 400
        for name in ("section-z", "section-y", "section-x", "volume", "chart"):
            assert browser.evaluate(f"document.querySelector('#{name} canvas').getBoundingClientRect().width") > 350
            assert browser.evaluate(f"document.querySelector('#{name} canvas').getBoundingClientRect().height") > 85
        assert browser.evaluate("['play', 'time'].every((id) => document.getElementById(id).hidden)")
        assert browser.messages == []
        assert CliRunner().invoke(main, ["view", str(run_of_a_ball), "--output", str(target)]).exit_code == 0
        text = target.read_text(encoding="utf-8")
        assert '"opensAt": 0' in text
        target.write_text(text.replace('"opensAt": 0', '"opensAt": 3'), encoding="utf-8")
        browser.open(target.as_uri())
        browser.wait_for("window.heatsim && heatsim.frames.length === 5 && heatsim.chart")
        assert browser.evaluate("[heatsim.number, document.getElementById('time').value]") == [3, "3"]
        # The cross-hair is at the hottest cell.
        i = "heatsim.index()"
        assert browser.evaluate(f"heatsim.frame.numbers[{i}] === Math.max(...heatsim.frame.numbers)")


def is_blank(picture: Path) -> bool:
    """Whether a picture has none of the colours of the scale."""
    with Image.open(picture) as image:
        red, green, blue = np.moveaxis(np.asarray(image.convert("RGB"), int), -1, 0)
    return int(((red > 200) & (green > 100) & (green < 190) & (blue < 60)).sum()) < 20


def test_without_webgl_there_are_sections_alone(run_of_a_ball: Path, tmp_path: Path) -> None:
    target = tmp_path / "page.html"
    assert CliRunner().invoke(main, ["view", str(run_of_a_ball), "--output", str(target)]).exit_code == 0
    text = target.read_text(encoding="utf-8").replace('getContext("webgl2"', 'getContext("nothing"')
    target.write_text(text, encoding="utf-8")
    with Browser() as browser:
        browser.open(target.as_uri())
        browser.wait_for("window.heatsim && heatsim.frames.length === 5 && heatsim.chart")
        assert browser.evaluate("heatsim.volume === null")
        assert "no WebGL2" in browser.evaluate("document.querySelector('#volume figcaption').textContent")
        assert browser.messages == []
