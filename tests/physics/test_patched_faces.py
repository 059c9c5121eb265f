"""Patches: parts of a face with a condition of their own."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from helpers.in_memory import Run, case, problem_of
from helpers.in_turn import in_turn
from helpers.scenario_texts import Face, convection, fixed, flux, material

from heatsim.errors import ScenarioError

INSULATED: Face = {"kind": "insulated"}


def patched(face: Face, *patches: tuple[str, Face]) -> Face:
    return {**face, "patches": [{"where": where, **patch} for where, patch in patches]}


def entered(run: Run, face: Face) -> float:
    energy = run(case([8, 6, 4], 0.01, boundary={"x_min": face})).energy
    assert abs(energy.relative_residual) < 1e-12
    return float(energy.faces["x_min"])


def test_half_a_heated_face_takes_half_the_power(run: Run) -> None:
    whole = entered(run, flux(3.0))
    assert whole == pytest.approx(0.03, rel=1e-12)
    assert entered(run, patched(INSULATED, ("y < 0.5", flux(3.0)))) == pytest.approx(0.5 * whole, rel=1e-12)
    assert entered(run, patched(flux(3.0), ("y < 0.5", INSULATED))) == pytest.approx(0.5 * whole, rel=1e-12)


def test_a_patch_over_all_of_a_face_is_the_face(run: Run) -> None:
    """Bits included, for each kind; expressions see the cells of the patch."""
    kinds = fixed("1 + y"), flux("2*z*t"), convection("3 + y", 2.0)
    for kind in kinds:
        both = [
            run(case([5, 6, 4], 0.02, boundary={"y_max": face})) for face in (kind, patched(fixed(7.0), ("1", kind)))
        ]
        np.testing.assert_array_equal(both[0].temperature, both[1].temperature)


def test_later_patches_lie_over_earlier_ones(run: Run) -> None:
    face = patched(INSULATED, ("y < 0.5", flux(8.0)), ("z < 0.5", flux(2.0)))
    assert entered(run, face) == pytest.approx(0.01 * (8.0 / 4 + 2.0 / 2), rel=1e-12)


def test_the_steady_profile_of_patches_is_that_of_two_rods(run: Run) -> None:
    """Two insulated rods side by side, k = 1 and a wall of next to no conductivity between: q x each."""
    materials = {"rod": material(), "wall": material(1e-12)}
    regions = [{"material": "wall", "where": "abs(y - 0.5) < 0.1"}]
    boundary = {"x_min": patched(INSULATED, ("y < 0.4", flux(1.0)), ("y > 0.6", flux(3.0))), "x_max": fixed(0.0)}
    outcome = run(case([10, 5, 1], 4.0, materials=materials, regions=regions, boundary=boundary))
    x = outcome.points()[0][0, 0]
    for row, heat in ((0, 1.0), (1, 1.0), (3, 3.0), (4, 3.0)):
        np.testing.assert_allclose(outcome.temperature[0, row], heat * (1.0 - x), rtol=0, atol=2e-4)
    assert outcome.temperature[0, 2] == pytest.approx(np.zeros(10), abs=1e-6)


@in_turn(
    ("face", "uneven"),
    [
        (patched(INSULATED, ("y < 0.5", flux(8.0))), True),
        (fixed("1 + x"), True),
        ({"kind": "radiation", "emissivity": 0.9, "ambient": 300.0}, True),  # its tangents differ
        (fixed("20 * t"), False),
        (convection("3 + t", 2.0), False),
    ],
)
def test_faces_whose_values_differ_from_cell_to_cell_are_known(face: Face, uneven: bool) -> None:
    """`temporal` looks up values by cell there alone. A face of x has values come one a cell in any case."""
    boundary = {"x_min": fixed("2 + y"), "y_min": convection(2.0, 1.0), "z_max": face}
    problem = problem_of(case([4, 5, 6], 1.0, boundary=boundary))
    faces = problem.boundary_faces
    assert faces.per_cell
    assert faces.uneven(False) == (True, False, uneven) == problem.coefficients.uneven  # kernels are told
    assert faces.uneven(True) == (True, True, uneven or "coefficient" in face)  # tangents beside a k(T) differ
    a, b = faces.at(np.array([0.5]))
    for number, (start, end) in enumerate(pairwise(faces.starts)):
        if not faces.uneven(False)[number // 2]:
            assert np.ptp(a[0, start:end]) == np.ptp(b[0, start:end]) == 0.0


def test_patches_count_for_the_stable_step_and_the_reference() -> None:
    plain = problem_of(case([8, 8, 1], 1.0))
    cold = problem_of(case([8, 8, 1], 1.0, boundary={"x_min": patched(INSULATED, ("y < 0.2", fixed(-50.0)))}))
    assert cold.stability_limit < plain.stability_limit
    assert cold.reference == -25.0


def test_a_condition_or_value_that_is_undefined_elsewhere_does_no_harm(run: Run) -> None:
    """1/y where y > 0.5 only, log of what is negative beyond the patch."""
    face = patched(INSULATED, ("y > 0.5", flux("log(y - 0.5)")))
    assert np.isfinite(entered(run, face))


@in_turn(
    ("face", "message"),
    [
        (patched(INSULATED, ("y > 2", flux(1.0))), "boundary.x_min.patches.0.where: covers no cell of the face"),
        (patched(INSULATED, ("log(y - 2)", flux(1.0))), "boundary.x_min.patches.0.where: expected finite values"),
        (patched(flux(1.0), ("y < 2", flux("1/(y - y)"))), "boundary.x_min.patches.0.flux: expected finite values"),
        (
            patched(INSULATED, ("y < 0.5", flux(1.0)), ("z < 1", convection("y - 1", 0.0))),
            "boundary.x_min.patches.1.coefficient: expected at least 0 W/(m2 K)",
        ),
        (
            patched(INSULATED, ("1", fixed("-300 + y"))),
            "boundary.x_min.patches.0.temperature: expected at least -273.15",
        ),
    ],
)
def test_a_patch_that_cannot_be_is_refused_at_its_key(face: Face, message: str) -> None:
    with pytest.raises(ScenarioError) as refusal:
        problem_of(case([4, 4, 4], 1.0, boundary={"x_min": face}))
    assert message in str(refusal.value)


def test_a_default_patch_need_not_be_on_every_face(run: Run) -> None:
    default = patched(INSULATED, ("z > 0.99", flux(1.0)))  # of the faces of the box, only on top
    outcome = run(case([4, 4, 4], 0.01, boundary={"default": default}))
    assert outcome.energy.faces["z_max"] == pytest.approx(0.01, rel=1e-12)
    assert outcome.energy.stored == pytest.approx(0.01, rel=1e-12)
