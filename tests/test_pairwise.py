"""The choice of combinations that tests are run with: every pair of values that may occur does, in few rows."""

from __future__ import annotations

import pytest
from helpers.pairwise import Row, missing_pairs, pairwise

FACTORS = {"kernel": ("cpu", "basic", "register"), "precision": (32, 64), "boundary": "abcd", "integrator": ("e", "i")}


def allowed(row: Row) -> bool:
    return not (row.get("kernel") == "basic" and row.get("integrator") == "i")


def test_every_pair_occurs_in_few_rows() -> None:
    rows = pairwise(FACTORS)
    assert missing_pairs(rows, FACTORS) == []
    assert 12 <= len(rows) <= 15  # the two largest factors have 12 pairs, all together 48 combinations
    assert rows == pairwise(FACTORS)


def test_what_may_not_occur_does_not_and_all_else_does() -> None:
    rows = pairwise(FACTORS, allowed)
    assert all(allowed(row) for row in rows)
    assert missing_pairs(rows, FACTORS, allowed) == []
    assert missing_pairs(rows[1:], FACTORS, allowed) != []
    assert missing_pairs(rows, FACTORS) == [{"kernel": "basic", "integrator": "i"}]


def test_a_pair_that_no_row_can_hold_is_refused() -> None:
    with pytest.raises(ValueError, match="no row may hold"):
        pairwise({"a": (1,), "b": (1,), "c": (1, 2)}, lambda row: len(row) < 3)
