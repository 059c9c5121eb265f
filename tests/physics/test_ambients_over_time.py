"""An ambient whose temperature or coefficient depends on time, or that radiates, acts as the same air beyond a face."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest
from helpers.in_memory import run
from helpers.in_turn import in_turn

import heatsim
from heatsim.errors import ScenarioError
from heatsim.problem import build_problem
from heatsim.scenario import loads

AIR = "10 + 8*sin(2*pi*t/3600)"
WALL = """\
temperature_unit = "degC"
[grid]
cells = [{cells}, 4, 1]
size = [{length}, 0.04, 0.04]
origin = [{origin}, 0.0, 0.0]
[time]
end = 3600.0
step = {step}
integrator = "{integrator}"
[compute]
precision = "float64"
[materials.brick]
conductivity = {conductivity}
density = 1700.0
heat_capacity = 900.0
[[regions]]
material = "brick"
[initial]
temperature = 15.0
[output]
energy = {{ every = 1800.0 }}
snapshots = {{ at = [900.0] }}
[[output.probes]]
name = "surface"
at = [0.053, 0.02, 0.02]
every = 600.0
[boundary]
x_max = {{ kind = "convection", coefficient = 8.0, ambient = 20.0 }}
y_min = {beside}
"""
AMBIENT = """\
[[regions]]
material = "outside"
box = {{ lower = [0.0, 0.0, 0.0], upper = [0.05, 0.04, 0.04] }}
[ambients.outside]
temperature = {air}
{film}
"""
CONSTANT = "coefficient = 25.0"
WINDY = 'coefficient = "25 + 15*sin(2*pi*t/1800)"'
RADIATING_TOO = "coefficient = 25.0\nemissivity = 0.9"
NATURAL = 'coefficient = "5 + 4*abs(T - 12)**0.25"'
STEPS = {"euler": 12.0, "rkl2": 12.0, "implicit": 48.0, "steady": 48.0}  # s
INSULATED = '{ kind = "insulated" }'
RADIATING = '{ kind = "radiation", emissivity = 0.9, ambient = 5.0 }'


def brick(cells: int, integrator: str, conductivity: str, beside: str) -> str:
    """A wall of so many cells of 1 cm, which ends at x = 0.3 m."""
    return WALL.format(
        cells=cells,
        length=cells / 100,
        origin=(30 - cells) / 100,
        integrator=integrator,
        step=STEPS[integrator],
        conductivity=conductivity,
        beside=beside,
    )


def wall(
    integrator: str = "euler",
    air: str = f'"{AIR}"',
    conductivity: str = "0.8",
    beside: str = INSULATED,
    film: str = CONSTANT,
) -> str:
    """25 cells of brick behind 5 of an ambient."""
    return brick(30, integrator, conductivity, beside) + AMBIENT.format(air=air, film=film)


def wall_with_a_face(integrator: str, conductivity: str, beside: str, film: str) -> str:
    """The same brick alone, with the air beyond its face."""
    face = f'x_min = {{ kind = "convection", {", ".join(film.splitlines())}, ambient = "{AIR}" }}\n'
    return brick(25, integrator, conductivity, beside) + face


@in_turn(
    ("integrator", "conductivity", "beside", "film"),
    [
        *((explicit, "0.8", beside, CONSTANT) for explicit in ("euler", "rkl2") for beside in (INSULATED, RADIATING)),
        *(("implicit", conductivity, INSULATED, CONSTANT) for conductivity in ("0.8", '"0.6 + 0.01*T"')),
        ("euler", "0.8", INSULATED, RADIATING_TOO),
        *(("euler", "0.8", RADIATING, film) for film in (WINDY, NATURAL)),
        ("implicit", "0.8", RADIATING, RADIATING_TOO),
        *(("implicit", "0.8", INSULATED, film) for film in (WINDY, NATURAL)),
    ],
)
def test_an_ambient_is_the_air_beyond_a_face(
    tmp_path: Path, integrator: str, conductivity: str, beside: str, film: str
) -> None:
    runs = []
    for make in (wall, wall_with_a_face):
        text = make(integrator, conductivity=conductivity, beside=beside, film=film)
        runs.append(heatsim.run(loads(text), tmp_path / str(len(runs))))
    ambient, face = (run.info["energy"] for run in runs)
    # The tangents that stand for a face that radiates, or whose film changes, hold for some steps.
    accuracy = 1e-6 if film == CONSTANT or (integrator == "implicit" and film != NATURAL) else 2e-3
    assert ambient["ambients"]["outside"] == pytest.approx(face["faces"]["x_min"], rel=accuracy)
    assert abs(face["faces"]["x_min"]) > 100.0
    assert ambient["sources"] == face["sources"] == 0.0
    assert abs(ambient["residual"]) < 1e-9 * abs(ambient["ambients"]["outside"])
    found = [np.genfromtxt(run.path / "probes.csv", delimiter=",", skip_header=1)[:, 1] for run in runs]
    np.testing.assert_allclose(*found, atol=1e-6 if accuracy == 1e-6 else 4e-3)


def test_beside_a_material_that_depends_on_temperature_explicit_steps_agree_with_the_solver(tmp_path: Path) -> None:
    """Explicit steps take the conductivity of a half cell at its cell, so that both agree to the order of the cells."""
    found = [run(wall(integrator, conductivity='"0.4 + 0.02*T"')).energy for integrator in ("euler", "implicit")]
    one, other = (energy.ambients["outside"] for energy in found)
    assert one == pytest.approx(other, rel=5e-3)
    assert all(abs(energy.relative_residual) < 1e-9 for energy in found)


@pytest.mark.gpu
@pytest.mark.parametrize("kernel", ["register", "temporal"])
def test_the_field_beside_it_has_the_same_bits_on_a_gpu(kernel: str) -> None:
    found, expected = run(wall(), kernel), run(wall())
    assert np.array_equal(found.temperature, expected.temperature)
    assert found.energy.ambients["outside"] == pytest.approx(expected.energy.ambients["outside"], rel=1e-12)


def test_results_show_the_ambient_at_its_temperature_of_the_time(tmp_path: Path) -> None:
    run = heatsim.run(loads(wall()), tmp_path / "run")
    (snapshot,) = (run.path / "snapshots").glob("*.h5")
    with h5py.File(snapshot) as file:
        temperature = file["temperature"][()]
    np.testing.assert_allclose(temperature[0, :, :5], 18.0, atol=1e-9)  # a quarter of the period on
    assert temperature[0, :, 5:].max() < 17.0


def test_a_weather_file_is_the_expression_it_follows(tmp_path: Path) -> None:
    (tmp_path / "weather.csv").write_text("time [h],air [degC]\n0,10\n1,30\n")
    heat = []
    for number, air in enumerate(('{ file = "weather.csv", column = "air" }', '"10 + t/180"')):
        file = tmp_path / f"{number}.toml"
        file.write_text(wall("rkl2", air))
        heat.append(heatsim.run(heatsim.load(file), tmp_path / str(number)).info["energy"]["ambients"]["outside"])
    assert heat[0] == pytest.approx(heat[1], rel=1e-9)


@in_turn(
    ("text", "key", "words"),
    [
        (wall("steady").replace("step = 12.0\n", ""), "time.integrator", "do not depend on t"),
        (wall("rkl2", film=WINDY), "time.integrator", "rkl2 takes no ambient that radiates, or whose coefficient"),
        (wall("euler", film='coefficient = "10 - t"'), "ambients.outside.coefficient", "expected at least 0"),
        (wall("euler", '"-300*t"'), "ambients.outside.temperature", "absolute zero"),
        (wall("euler", '"1/(t - 1800)"'), "ambients.outside.temperature", "finite"),
    ],
    ids=["steady", "rkl2", "a negative coefficient", "too cold", "a pole"],
)
def test_what_cannot_be_is_refused(text: str, key: str, words: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        build_problem(loads(text))
    assert key in str(refused.value)
    assert words in str(refused.value)
