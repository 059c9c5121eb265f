"""Whether a scenario has anything that follows temperature, which takes other kernels than constants do."""

from __future__ import annotations

from collections.abc import Iterator

from heatsim.scenario.boundary import FACES, Convection, Face, Radiation
from heatsim.scenario.expressions import Expression
from heatsim.scenario.materials import Material, PropertyTable
from heatsim.scenario.model import Scenario
from heatsim.scenario.scanner import Key


def what_follows_temperature(scenario: Scenario) -> Key | None:
    """The key of the first thing that does: a property, a latent heat, a radiating face or a coefficient; None
    if nothing does."""
    for name, material in scenario.materials.items():
        for part in _parts(material):
            return ("materials", name, part)
    for name, face in faces(scenario):
        if isinstance(face, Radiation) or (isinstance(face, Convection) and _follows(face.coefficient)):
            return ("boundary", name)
    return None


def faces(scenario: Scenario) -> Iterator[tuple[str, Face]]:
    """All conditions on faces and on their patches, each with the name under which it stands."""
    for name in ("default", *FACES):
        face: Face | None = getattr(scenario.boundary, name)
        if face is not None:
            yield name, face
            yield from ((name, patch) for patch in face.patches)


def _follows(value: float | Expression) -> bool:
    return isinstance(value, Expression) and "T" in value.names


def _parts(material: Material) -> Iterator[str]:
    for name in ("conductivity", "heat_capacity"):
        if isinstance(getattr(material, name), PropertyTable | Expression):
            yield name
    if material.latent is not None:
        yield "latent"
