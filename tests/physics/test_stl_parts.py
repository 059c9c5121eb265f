"""Parts from STL files: which cells they fill, and what is wrong with files that cannot be used."""

from __future__ import annotations

import sys
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from helpers.in_turn import in_turn

from heatsim.base.grid import CellGrid
from heatsim.cli.main import main
from heatsim.problem.shapes.voxelise import covered_volume, shape_masks, voxelise_regions
from heatsim.scenario import Scenario, load

pytest.importorskip("trimesh")
pytest.importorskip("rtree")

Triangles = np.ndarray  # (n, 3, 3): triangle, corner, x y z

SCENARIO = """\
[grid]
cells = [{n}, {n}, {n}]
size = [0.02, 0.02, 0.02]
origin = [-0.01, -0.01, -0.01]
[time]
end = 1.0
[materials.air]
conductivity = 0.026
density = 1.2
heat_capacity = 1005.0
[materials.steel]
conductivity = 15.0
density = 7900.0
heat_capacity = 500.0
[[regions]]
material = "air"
[[regions]]
material = "steel"
stl = "{file}"
[initial]
temperature = 300.0
"""


def cube(half: float, centre: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> Triangles:
    """Two triangles a side, corners anticlockwise seen from outside."""
    corners = np.array(list(product((-half, half), repeat=3))) + centre
    sides = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    return np.array([corners[[a, b, c]] for p, q, r, s in sides for a, b, c in ((p, q, r), (p, r, s))])


def ball(radius: float, n: int = 24) -> Triangles:
    """A sphere of 2 n meridians and n parallels; its poles are single points."""
    theta, phi = np.meshgrid(np.linspace(0, np.pi, n + 1), np.linspace(0, 2 * np.pi, 2 * n, endpoint=False))
    points = radius * np.stack([np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi), np.cos(theta)], axis=-1)
    points[:, 0], points[:, -1] = points[0, 0], points[0, -1]
    beside = np.roll(points, -1, axis=0)
    lower = np.stack([points[:, :-1], points[:, 1:], beside[:, 1:]], axis=2)[:, :-1]
    upper = np.stack([points[:, :-1], beside[:, 1:], beside[:, :-1]], axis=2)[:, 1:]
    return np.concatenate([lower.reshape(-1, 3, 3), upper.reshape(-1, 3, 3)])


def binary(triangles: Triangles) -> bytes:
    records = np.zeros(len(triangles), np.dtype([("n", "<f4", 3), ("v", "<f4", (3, 3)), ("a", "<u2")]))
    records["v"] = triangles
    return b"made by a test".ljust(80) + len(triangles).to_bytes(4, "little") + records.tobytes()


def ascii_form(triangles: Triangles) -> bytes:
    vertices = ("".join(f"      vertex {x:.9e} {y:.9e} {z:.9e}\n" for x, y, z in corners) for corners in triangles)
    facets = (f"  facet normal 0 0 0\n    outer loop\n{each}    endloop\n  endfacet\n" for each in vertices)
    return f"solid part\n{''.join(facets)}endsolid part\n".encode()


def scenario_of(folder: Path, data: bytes, n: int = 20, name: str = "part.stl") -> Path:
    (folder / name).write_bytes(data)
    path = folder / "scenario.toml"
    path.write_text(SCENARIO.format(n=n, file=name))
    return path


def material_ids(path: Path) -> np.ndarray:
    scenario = load(path)
    return np.asarray(voxelise_regions(scenario, grid_of(scenario), list(scenario.materials)) == 1)


def grid_of(scenario: Scenario) -> CellGrid:
    cells = scenario.grid.cells
    spacing = tuple(size / n for size, n in zip(scenario.grid.size, cells, strict=True))
    return CellGrid(cells[::-1], scenario.grid.origin, spacing)  # type: ignore[arg-type]


@pytest.mark.lowest
@pytest.mark.parametrize("form", [binary, ascii_form])
def test_a_cube_fills_the_cells_whose_centres_it_holds(tmp_path: Path, form: object) -> None:
    # Its diagonals run through the centres of cells: rays meet two triangles at once.
    path = scenario_of(tmp_path, form(cube(0.005)))  # type: ignore[operator]
    expected = np.zeros((20, 20, 20), bool)
    expected[5:15, 5:15, 5:15] = True
    assert np.array_equal(material_ids(path), expected)


def test_a_ball_has_its_volume_and_is_where_it_is_round(tmp_path: Path) -> None:
    inside = material_ids(scenario_of(tmp_path, binary(ball(0.008)), n=40))
    centres = -0.01 + (np.arange(40) + 0.5) * 0.0005
    z, y, x = np.meshgrid(centres, centres, centres, indexing="ij")
    distance = np.sqrt(x**2 + y**2 + z**2)
    assert inside[distance < 0.0079].all()
    assert not inside[distance > 0.008].any()


def test_a_hollow_part_is_empty_inside(tmp_path: Path) -> None:
    shell = np.concatenate([cube(0.008), cube(0.003)[:, ::-1]])
    inside = material_ids(scenario_of(tmp_path, binary(shell)))
    assert inside.sum() == 16**3 - 6**3
    assert not inside[10, 10, 10]


def test_a_part_much_smaller_than_a_micrometre_keeps_its_form(tmp_path: Path) -> None:
    path = scenario_of(tmp_path, binary(cube(0.5e-8)))
    path.write_text(path.read_text().replace("0.02,", "2e-8,").replace("0.02]", "2e-8]").replace("-0.01", "-1e-8"))
    assert material_ids(path).sum() == 10**3


def test_unequal_cells_are_counted_by_their_volume(tmp_path: Path) -> None:
    scenario = load(scenario_of(tmp_path, binary(cube(0.005))))
    edges = (-0.01, -0.005, -0.001, 0.0, 0.004, 0.005, 0.01)
    grid = CellGrid((6, 6, 6), (-0.01,) * 3, (0.02 / 6,) * 3, (edges,) * 3)
    key, region = ("regions", 1), scenario.regions[1]
    assert sum(int(mask.sum()) for mask in shape_masks(scenario, key, region, grid)) == 4**3
    assert covered_volume(scenario, key, region, grid) == pytest.approx(0.01**3)


def told(path: Path) -> str:
    """What `heatsim validate` says of a scenario that it refuses."""
    result = CliRunner().invoke(main, ["validate", str(path)])
    assert result.exit_code == 2, result.output
    return result.output


NAN = np.where(cube(0.005) > 0, np.nan, cube(0.005))
BAD = {
    "open": (binary(cube(0.005)[1:]), "is not a closed surface: 3 of its 18 edges do not belong to two triangles"),
    "empty": (b"", "is not an STL file, or is cut short"),
    "without triangles": (binary(cube(0.005)[:0]), "holds no triangles"),
    "text without triangles": (b"solid x\nendsolid x\n", "holds no triangles"),
    "cut short": (binary(cube(0.005))[:-7], "is not an STL file, or is cut short"),
    "text cut short": (ascii_form(cube(0.005))[:-40], "is not an STL file, or is cut short"),
    "something else": (b"PK\x03\x04" * 100, "is not an STL file, or is cut short"),
    "nonsense": (b"solid x\nvertex a b c\nendsolid x\n", "part.stl"),
    "not finite": (binary(NAN), "has corners that are not finite numbers"),
    "flat": (binary(cube(0.005)[:2]), "is flat"),
    "all in one point": (binary(np.concatenate([cube(0.005), np.full((1, 3, 3), 1e30)])), "is flat"),
    "outside": (binary(cube(0.005, (1.0, 0.0, 0.0))), "lies outside the grid: it has x from 0.995 to 1.005"),
    "in millimetres": (binary(cube(5.0, (50.0, 0.0, 0.0))), "coordinates in an STL file count as metres"),
    "between centres": (binary(cube(0.0004)), "covers no cell centre"),
}


@in_turn(("data", "message"), BAD.values(), ids=BAD)
def test_a_file_that_cannot_be_used_is_told_with_its_place(tmp_path: Path, data: bytes, message: str) -> None:
    output = told(scenario_of(tmp_path, data))
    assert "scenario.toml:19:" in output
    assert "regions.1.stl: " in output
    assert message in output
    assert output.count("\n") == 1


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    path = scenario_of(tmp_path, b"")
    (tmp_path / "part.stl").unlink()
    assert "no such file" in told(path)


def test_a_huge_file_is_refused_unread(tmp_path: Path) -> None:
    path = scenario_of(tmp_path, b"")
    with (tmp_path / "part.stl").open("wb") as file:
        file.truncate(2**40)  # sparse
    assert "more than the 268435456 expected at most" in told(path)


@pytest.mark.parametrize("package", ["trimesh", "rtree"])
def test_a_missing_extra_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    path = scenario_of(tmp_path, binary(cube(0.005)))
    monkeypatch.setitem(sys.modules, package, None)
    assert 'pip install "heatsim[stl]"' in told(path)


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    path = scenario_of(tmp_path, binary(cube(0.005)))
    assert material_ids(path).sum() == 10**3
    (tmp_path / "part.stl").write_bytes(binary(cube(0.003)))
    assert material_ids(path).sum() == 6**3
