"""What lies over the cells of a plane: no isotherm where there is no temperature, or where it jumps."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from helpers.in_turn import in_turn
from matplotlib.contour import QuadContourSet

from heatsim.output.pictures.options import PictureOptions
from heatsim.output.pictures.pages import DARK, LIGHT, PlaneStyle
from heatsim.output.pictures.plane_view import PlaneMaterials, outline_segments
from heatsim.output.pictures.planes import _colours_of, _limits
from heatsim.output.pictures.slices import PlaneOverlay, SlicePage

EXTENT = (0.0, 0.04, 0.0, 0.04)
N = 40


def page_of(field: np.ndarray, materials: PlaneMaterials | None, **changes: object) -> SlicePage:
    style = PlaneStyle(("x", "y"), "K", "A plate", **changes)  # type: ignore[arg-type]
    return SlicePage(field, EXTENT, style, None, PlaneOverlay(materials))


def lines_of(page: SlicePage) -> list[np.ndarray]:
    """The points of all isotherms, each cut off as it is drawn."""
    found = []
    for lines in page.axes.findobj(QuadContourSet):
        clip = lines.get_clip_path()
        for path in lines.get_paths():
            points = path.vertices
            if clip is not None and len(points):
                points = points[
                    clip.get_fully_transformed_path()
                    .transformed(page.axes.transData.inverted())
                    .contains_points(points)
                ]
            found.append(points)
    return [points for points in found if len(points)]


def halves(kind: str) -> PlaneMaterials:
    """Two materials, left and right; the right one an ambient, or behind a contact."""
    ids = np.zeros((N, N), np.uint8)
    ids[:, N // 2 :] = 1
    return PlaneMaterials(ids, (ids == 1) & (kind == "ambient"), ids * (kind == "contact"))


def test_a_jump_at_a_contact_is_no_bundle_of_isotherms() -> None:
    field = np.where(np.arange(N) < N // 2, 300.0, 400.0) * np.ones((N, 1))
    assert lines_of(page_of(field, halves("none")))
    assert not lines_of(page_of(field, halves("contact")))


@pytest.mark.parametrize("level", [300.0, 350.0])
def test_rounding_about_a_level_is_no_isotherm(level: float) -> None:
    """A plate at its initial temperature, which is a tick of the scale, beside a hot spot."""
    y, x = np.mgrid[0:1:60j, 0:1:60j]
    noise = np.random.default_rng(0).normal(0.0, 3e-5, (60, 60))
    field = level + noise + 49 * np.exp(-((x - 0.3) ** 2 + (y - 0.3) ** 2) / 0.01)
    page = page_of(field, None, limits=(300.0, 400.0))
    assert 0 < sum(len(points) for points in lines_of(page)) < 400


@pytest.mark.parametrize("kind", ["ambient", "contact"])
def test_isotherms_run_up_to_a_border_and_end_there(kind: str) -> None:
    y = (np.arange(N) + 0.5)[:, None] * np.ones(N)
    field = np.where(np.arange(N) < N // 2, 300.0 + y, 1000.0)
    page = page_of(field, halves(kind), limits=(300.0, 340.0))
    points = np.concatenate(lines_of(page))
    assert points[:, 0].max() <= 0.02 + 1e-9
    assert points[:, 0].max() > 0.02 - 0.001


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_an_ambient_has_one_colour_that_no_temperature_has(theme: object) -> None:
    field = np.random.default_rng(0).uniform(300, 400, (N, N))
    drawn = page_of(field, halves("ambient"), theme=theme).draw(100)
    box = page_of(field, None).axes.get_position()
    rows, columns, _ = drawn.shape
    x = slice(int((box.x0 + 0.55 * box.width) * columns), int((box.x1 - 0.02) * columns))
    y = slice(int((1 - box.y1 + 0.05) * rows), int((1 - box.y0 - 0.05) * rows))
    assert len(np.unique(drawn[y, x].reshape(-1, 3), axis=0)) == 1


def test_hidden_cells_do_not_widen_the_colour_scale() -> None:
    field = np.where(np.arange(N) < N // 2, 300.0, 9000.0) + np.arange(N)[:, None]
    assert page_of(field, halves("ambient"))._view.limits == (300.0, 339.0)


def test_outlines_go_between_cells_of_different_material() -> None:
    ids = np.zeros((3, 4), int)
    ids[1, 1:3] = 1
    segments = outline_segments(ids, (np.arange(4.0), np.arange(5.0)))
    assert sorted(map(tuple, segments.reshape(-1, 4).tolist())) == [
        (1, 1, 1, 2),
        (1, 1, 3, 1),
        (1, 2, 3, 2),
        (3, 1, 3, 2),
    ]


def test_labels_of_isotherms_lie_within_the_plane() -> None:
    y, x = np.mgrid[0:1:60j, 0:1:60j]
    page = page_of(300 + 50 * np.hypot(x - 1, y), None)
    page.draw(100)
    renderer = page.page.canvas.get_renderer()
    box = page.axes.get_window_extent(renderer)
    texts = [text for text in page._view._texts if text.get_visible()]
    assert texts
    for text in texts:
        place = text.get_window_extent(renderer)
        assert box.x0 < place.x0
        assert place.x1 < box.x1
        assert box.y0 < place.y0
        assert place.y1 < box.y1


@in_turn(
    ("extremes", "limits", "colours"),
    [
        ([(0.2, 97.0)], (0.0, 97.0), "Reds"),
        ([(-1e-5, 97.0), (3.0, 40.0)], (0.0, 97.0), "Reds"),
        ([(-8.0, -2.0)], (-8.0, 0.0), "Blues_r"),
        ([(-8.0, 2.0)], (-8.0, 8.0), "RdBu_r"),
        ([(0.0, 0.0)], (0.0, 0.0), "RdBu_r"),
    ],
)
def test_a_difference_of_one_sign_has_one_side_of_the_scale(
    extremes: list[tuple[float, float]], limits: tuple[float, float], colours: str
) -> None:
    source = SimpleNamespace(minus=(None, 0.0))
    found = _limits(source, extremes, PictureOptions())  # type: ignore[arg-type]
    assert (found, _colours_of(found)) == (limits, colours)


@pytest.mark.parametrize("material", [False, True])
def test_coarse_planes_have_isotherms(material: bool) -> None:
    """Six by five cells of a linear field, in which lines are straight; all of them solid, or beside an ambient."""
    field = 300.0 + 10.0 * (np.arange(6) + 0.5) * np.ones((5, 1))
    ids = (np.arange(6) >= 4) * np.ones((5, 1), np.uint8)
    page = page_of(field, PlaneMaterials(ids, ids == 1, 0 * ids) if material else None, limits=(300.0, 360.0))
    places = {round(float(points[:, 0].mean()) / 0.04 * 60) for points in lines_of(page)}
    assert places >= ({20, 30} if material else {20, 30, 40, 50})
