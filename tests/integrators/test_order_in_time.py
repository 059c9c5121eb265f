"""Errors fall with the power of the step that the methods promise."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.in_turn import in_turn
from integrator_cases import ORDER_PROBLEMS, ORDERS, case, equal_steps, exact, field

from heatsim.solve.integrators.tableaus import BACKWARD_EULER, TR_BDF2, Tableau


@in_turn("tableau", [BACKWARD_EULER, TR_BDF2], ids=lambda tableau: tableau.name)
@in_turn("text", ORDER_PROBLEMS.values(), ids=ORDER_PROBLEMS)
def test_the_error_falls_with_the_order_of_the_method(text: str, tableau: Tableau) -> None:
    counts = (16, 32) if ORDERS[tableau.name] == 2 else (40, 80)
    errors = [np.abs(field(equal_steps(text, count, tableau)) - exact(text)).max() for count in counts]
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert orders[-1] == pytest.approx(ORDERS[tableau.name], abs=0.1)


@pytest.mark.parametrize("tableau", [BACKWARD_EULER, TR_BDF2], ids=lambda tableau: tableau.name)
def test_a_tableau_meets_the_conditions_of_its_order(tableau: Tableau) -> None:
    """Hairer, Norsett and Wanner, Solving Ordinary Differential Equations I, section II.2."""
    b, c = np.array(tableau.weights), np.array(tableau.c)
    a = np.array([[*row, *[0.0] * (len(c) - len(row))] for row in tableau.a])
    np.testing.assert_allclose(a.sum(axis=1), c, atol=1e-15)

    def missed(b: np.ndarray) -> list[float]:
        """By how much, at worst, the conditions of order 1, 2 and 3."""
        return [abs(b.sum() - 1), abs(b @ c - 1 / 2), max(abs(b @ c**2 - 1 / 3), abs(b @ a @ c - 1 / 6))]

    for weights, order in ((b, ORDERS[tableau.name]), (np.array(tableau.embedded), tableau.embedded_order)):
        assert max(missed(weights)[:order]) < 1e-14
    assert missed(b)[ORDERS[tableau.name]] > 0.01
    assert tableau.embedded_order == ORDERS[tableau.name] + 1


@pytest.mark.parametrize("tableau", [BACKWARD_EULER, TR_BDF2], ids=lambda tableau: tableau.name)
def test_what_a_step_cannot_resolve_is_gone_after_it(tableau: Tableau) -> None:
    """L-stable: one step of a million times the stability limit leaves nothing of a mode."""
    rough = case([32, 1, 1], 500.0, initial="where(floor(32*x) - 2*floor(16*x) > 0, 1, -1)")
    assert np.abs(field(equal_steps(rough, 1, tableau))).max() < 1e-4
