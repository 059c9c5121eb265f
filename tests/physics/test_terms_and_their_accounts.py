"""Each term alone, against its account in the ledger, on each integrator: what does not take it refuses it."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from helpers.in_memory import run
from helpers.in_turn import in_turn

from heatsim.errors import ScenarioError

INTEGRATORS = ("euler", "rkl2", "implicit", "steady")
# A body in two parts that nothing leaves but by the term, and is not of one temperature.
BODY = """\
temperature_unit = "degC"
grid = { cells = [4, 3, 2], size = [0.04, 0.03, 0.02] }
compute = { device = "cpu", precision = "float64" }
materials.a = { conductivity = 2.0, density = 1000.0, heat_capacity = 500.0 }
materials.b = { conductivity = 4.0, density = 2000.0, heat_capacity = 400.0 }
regions = [{ material = "a" }, { material = "b", box = { lower = [0.02, 0, 0], upper = [0.04, 0.03, 0.02] } }, REGION]
initial = { temperature = "20 + 1000*x" }
"""
AIR = '{ material = "air", box = { lower = [0, 0.02, 0], upper = [0.02, 0.03, 0.02] } }'


class Term(NamedTuple):
    """A part of a scenario; the account that has all of its heat, "" if none has any; and which integrators take it, by
    their first letters."""

    text: str
    account: str
    taken_by: str


def ambient(keys: str, taken_by: str) -> Term:
    return Term(f"ambients.air = {{ {keys} }}", "air", taken_by)


def side(keys: str, taken_by: str) -> Term:
    return Term(f"boundary.x_max = {{ {keys} }}", "x_max", taken_by)


def source(keys: str, taken_by: str) -> Term:
    return Term(f"sources = [{{ {keys} }}]", "sources", taken_by)


TERMS = {
    "fixed": side('kind = "fixed", temperature = 80.0', "eris"),
    "flux": side('kind = "flux", flux = "300 + t"', "eri"),
    "convection": side('kind = "convection", coefficient = 30.0, ambient = 90.0', "eris"),
    "convection in T": side('kind = "convection", coefficient = "20 + 0.1*T", ambient = 90.0', "eris"),
    "radiation": side('kind = "radiation", emissivity = 0.8, ambient = 300.0', "eris"),
    "patch": side(
        'kind = "insulated", patches = [{ where = "y < 0.01", kind = "fixed", temperature = 80.0 }]',
        "eris",
    ),
    "ambient": ambient("temperature = 5.0, coefficient = 40.0", "eris"),
    "ambient in t": ambient('temperature = "5 + t", coefficient = 40.0', "eri"),
    "ambient that radiates": ambient("temperature = 200.0, emissivity = 0.9", "eis"),
    "contact in T": Term('contacts = [{ between = ["a", "b"], resistance = "1e-3 + 1e-5*T" }]', "", "ei"),
    "power": source('power = "2 + t"', "eri"),
    "power density": source('power_density = "1e5*x"', "eri"),
    "source in T": source('power_density = "1e3*(60 - T)"', "eis"),
    "perfusion": source("perfusion = { coefficient = 1e4, temperature = 37.0 }", "eris"),
    "perfusion in t": source('perfusion = { coefficient = "1e4 + t", temperature = 37.0 }', "ei"),
}


@in_turn("name", TERMS)
def test_a_term_is_in_its_account_alone_and_is_refused_by_what_cannot_take_it(name: str) -> None:
    term = TERMS[name]
    for integrator in INTEGRATORS:
        steady = integrator == "steady"
        text = BODY.replace(", REGION", f", {AIR}" if term.account == "air" else "") + term.text
        text += f'\ntime = {{ {"" if steady else "end = 20.0, "}integrator = "{integrator}" }}\n'
        if steady and term.account != "sources":
            text += "sources = [{ power = 1.0 }]\n"  # which has to leave by the term
        if integrator[0] not in term.taken_by:
            with pytest.raises(ScenarioError):
                run(text)
            continue
        energy = run(text).state.energy
        accounts = {"sources": energy.sources, **energy.faces, **energy.ambients}
        small = 1e-9 * max(energy.moved, 1e-3)  # a steady state of one source moves nothing
        assert abs(energy.residual) <= small, integrator
        if steady and term.account != "sources":
            assert accounts.pop("sources") == pytest.approx(1.0), integrator
        if term.account and not (steady and term.account == "sources"):  # there they come to nothing together
            assert abs(accounts.pop(term.account)) > 1e3 * small, integrator
        assert all(abs(heat) <= small for heat in accounts.values()), (integrator, accounts)
