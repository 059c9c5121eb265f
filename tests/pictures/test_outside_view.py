"""The view from outside: rays meet the cells that geometry says."""

from __future__ import annotations

import numpy as np

from heatsim.output.pictures.outside_view import Body, _camera, _cast


def cast(ids: np.ndarray, void: list[bool], point: tuple[float, float, float]) -> tuple[int, int]:
    """The material and the axis of the face on the ray from the eye through a point."""
    faces = tuple(np.linspace(0.0, 1.0, n + 1) for n in ids.shape[::-1])
    right, up, away = _camera()
    at = np.array(point)
    places = np.array([at @ right]), np.array([at @ up])
    material, side, _ = _cast(Body(ids, np.array(void), faces), faces, (right, up, away), places)  # type: ignore[arg-type]
    return int(material[0, 0]), int(side[0, 0])


def test_the_eye_sees_the_top_the_front_and_the_right() -> None:
    ids = np.zeros((4, 4, 4), np.uint8)
    assert cast(ids, [False], (0.5, 0.5, 1.0)) == (0, 2)
    assert cast(ids, [False], (0.5, 0.0, 0.5)) == (0, 1)
    assert cast(ids, [False], (1.0, 0.5, 0.5)) == (0, 0)
    assert cast(ids, [False], (3.0, 0.5, 0.5))[0] == -1


def test_a_ray_goes_through_an_ambient_to_the_solid_behind() -> None:
    ids = np.zeros((10, 10, 10), np.uint8)
    ids[:5] = 1  # material 0 above is an ambient
    assert cast(ids, [True, False], (0.5, 0.5, 0.5)) == (1, 2)
    assert cast(ids, [False, False], (0.5, 0.5, 0.5))[0] == 0
    assert cast(ids, [True, True], (0.5, 0.5, 0.5))[0] == -1
