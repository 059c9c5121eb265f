"""Random problems whose properties depend on temperature, by an independent reference: a few of those that
`python -m random_problems` (from tests/) judges by the hundred."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
from helpers.in_turn import in_turn
from random_problems.generator import generate, reference
from random_problems.judge import judge
from random_problems.materials import COPPER_C, COPPER_K
from random_problems.network import Network
from random_problems.reference import solve, solve_steady

COPPER = {  # OFHC copper: tables over decades
    "density": 8960.0,
    "conductivity": {"T": list(map(float, COPPER_K[0])), "value": list(map(float, COPPER_K[1]))},
    "heat_capacity": {"T": list(map(float, COPPER_C[0])), "value": list(map(float, COPPER_C[1]))},
}
TELLING = {
    21: "a trace of short rows beside a spike of c, in two dimensions",
    27: "a trace of short rows in copper at 20 K",
    29: "a steady state of copper between 4 and 300 K",
    31: "a trace of short rows, tables, h(T)",
    36: "a step of k, given by an expression",
    55: "a flux into a metal at 1 K, g T + b T^3, implicit",
    75: "a trace into fireclay of the library beside tables",
    88: "a trace of short rows over a spike of c",
}


@in_turn("n", TELLING)
def test_temperatures_are_within_what_is_promised_or_told(n: int, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of expressions of the reference at temperatures that are not reached
        made = generate(n, tmp_path)
        made.write(tmp_path)
        solution = reference(made, tmp_path)
    found = judge(made, solution, tmp_path)
    assert found.verdict in ("within", "told"), found


def rod(material: dict[str, object], start: float, end: float, **faces: dict[str, object]) -> dict[str, object]:
    return {
        "grid": {"cells": [100, 1, 1], "size": [1.0, 0.01, 0.01]},
        "time": {"end": end},
        "materials": {"m": material},
        "regions": [{"material": "m"}],
        "initial": {"temperature": start},
        "boundary": faces,
    }


def test_the_reference_conducts_the_integral_of_k(tmp_path: Path) -> None:
    cold, warm = ({"kind": "fixed", "temperature": T} for T in (4.0, 300.0))
    document = rod(COPPER, 4.0, 1.0, x_min=cold, x_max=warm)
    found = solve_steady(document, tmp_path)
    T, k = map(np.array, COPPER_K)
    heat = Network(document, tmp_path).faces[1](found.temperatures[0], 0.0)[1].sum()
    assert heat == pytest.approx(1e-4 * np.sum(0.5 * (k[1:] + k[:-1]) * np.diff(T)), rel=1e-9)


def test_the_reference_keeps_energy_over_a_short_pulse(tmp_path: Path) -> None:
    """c = b T^3 holds b T^4/4: what has entered tells the temperature in the end."""
    pulse = {"kind": "flux", "flux": "30.0 if t > 0.4 and t < 0.401 else 0.0"}
    document = rod(
        {"density": 1000.0, "conductivity": "5.0*T**3", "heat_capacity": "1e-4*T**3"}, 0.5, 10.0, x_min=pulse
    )
    found = solve(document, tmp_path, [10.0], [0.4, 0.401])
    assert np.mean(found.temperatures[0] ** 4) == pytest.approx(0.5**4 + 4 * 30.0 * 0.001 / 0.1, rel=1e-6)
