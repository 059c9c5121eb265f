"""The scenario as a whole."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import tomli_w
from pydantic import ConfigDict, Field, PrivateAttr, ValidationInfo, field_validator, model_validator

from heatsim.base.quantity import Quantity
from heatsim.base.shown import as_html, as_text
from heatsim.errors import Issue
from heatsim.scenario.boundary import Boundary
from heatsim.scenario.face_terms.face_term import FaceTerm
from heatsim.scenario.grid import Grid
from heatsim.scenario.language.base_model import ScenarioBlock
from heatsim.scenario.language.toml.positions import Key, KeyIssue, ScenarioOrigin, SourcePositions
from heatsim.scenario.language.value_types import WITH_UNIT, ValidationContext, text
from heatsim.scenario.material_library import MaterialEntry, find_library_materials
from heatsim.scenario.materials import MAX_MATERIALS, Ambient, Contact, MaterialName, Void, split_off_voids
from heatsim.scenario.output import Hotspots, Output
from heatsim.scenario.quantity import QuantitySection, in_keys_of_quantity
from heatsim.scenario.regions import Region
from heatsim.scenario.smoothing import Smoothing
from heatsim.scenario.sources import Initial, Source
from heatsim.scenario.stop import Stop
from heatsim.scenario.sweep import Sweep
from heatsim.scenario.time_and_compute import Compute, Time

Title = Annotated[str, text("a title of at most 200 characters on one line", r"[^\x00-\x1f\x7f]{0,200}")]


class Scenario(ScenarioBlock):
    """A heat conduction problem and how to run it, as one TOML file says it, in SI units."""

    model_config = ConfigDict(validate_default=True)  # so that defaults are kept for the checks too

    title: Title = Field("", description="Title of the run and its pictures")
    temperature_unit: Literal["K", "degC"] = Field(
        "K", description="Unit of every temperature in the file and in the results"
    )
    quantity: QuantitySection | None = Field(None, description="What diffuses; heat, if left out")
    parameters: dict[str, int | float] = Field(
        {},
        description="Numbers by name, for any value and expression of the file; also with a unit, or as an expression "
        "in those above. --set parameters.NAME=VALUE changes one",
        json_schema_extra={"additionalProperties": dict(WITH_UNIT)},
    )
    grid: Grid = Field(description="The box and its cells")
    time: Time = Field(description="The time span and the way through it")
    stop: Stop | None = Field(None, description="What ends the run before time.end")
    compute: Compute = Field(Compute(), description="Where and in which precision the run is computed")
    materials: dict[MaterialName, MaterialEntry] = Field(
        min_length=1,
        max_length=MAX_MATERIALS,
        description="The materials by name; may be left out if regions name those of the library. One with "
        "conductivity = 0 is void: its cells are not solved, no heat passes them, and it needs no other key",
    )
    ambients: dict[MaterialName, Ambient] = Field({}, description="Regions that are not solved, by name")
    regions: tuple[Region, ...] = Field(
        description="Painted in order, later over earlier; the first covers the grid",
        json_schema_extra={"minItems": 1},
    )
    contacts: tuple[Contact, ...] = Field((), description="Resistances between materials")
    initial: Initial = Field(description="The state at t = 0")
    boundary: Boundary = Field(Boundary(), description="What happens on the faces; insulated if left out")
    sources: tuple[Source, ...] = Field((), description="Heat released inside")
    smoothing: tuple[Smoothing, ...] = Field((), description="Convolution passes, in order")
    output: Output = Field(Output(), description="What is recorded")
    hotspots: Hotspots | None = Field(None, description="Search for hot spots on the slices")
    sweep: Sweep | None = Field(None, description="The runs of `heatsim sweep`")

    _positions: SourcePositions = PrivateAttr(default_factory=SourcePositions)
    _origin: ScenarioOrigin = PrivateAttr(default_factory=ScenarioOrigin)

    @model_validator(mode="before")
    @classmethod
    def _sort_materials(cls, data: Any) -> Any:
        """Add materials of the library, and put voids among the ambients."""
        if not isinstance(data, dict) or not isinstance(given := data.get("materials", {}), dict):
            return data
        if data.get("quantity") is None:  # the library knows nothing of others
            given = {**given, **{name: name for name in find_library_materials(data)}}
        solids, voids = split_off_voids(given)
        if solids and voids and isinstance(ambients := data.get("ambients", {}), dict):
            given, data = solids, {**data, "ambients": {**ambients, **voids}}
        return {**data, "materials": given} if given else data

    @field_validator("*", mode="after")
    @classmethod
    def _keep_for_checks(cls, value: Any, info: ValidationInfo) -> Any:
        if isinstance(info.context, ValidationContext) and info.field_name:
            info.context.sections[info.field_name] = value
        return value

    @property
    def solved(self) -> Quantity:
        """The quantity that is solved for: temperature in the file's unit, or that of `[quantity]`."""
        if self.quantity is None:
            return Quantity(unit=self.temperature_unit)
        return Quantity(self.quantity.name, self.quantity.unit)

    @property
    def unit(self) -> str:
        """The unit of temperatures in the file and in the results, or of what is solved for in their place."""
        return self.solved.unit

    @property
    def zero(self) -> float:
        """Absolute zero in that unit; 0 of a quantity other than temperature."""
        return self.solved.zero

    @property
    def face_terms(self) -> dict[str, FaceTerm]:
        """The terms of faces that there are, by their keys."""
        return {name: value for name, value in self if isinstance(value, FaceTerm)}

    @property
    def exchanging_ambients(self) -> dict[str, Ambient]:
        """The ambients that are no voids."""
        return {name: ambient for name, ambient in self.ambients.items() if not isinstance(ambient, Void)}

    @property
    def void_count(self) -> int:
        """How many of the ambients are voids; these are the last ones."""
        return len(self.ambients) - len(self.exchanging_ambients)

    @property
    def path(self) -> Path | None:
        """The file that the scenario was read from."""
        return self._positions.path

    @property
    def directory(self) -> Path:
        """The folder from which relative file names were resolved; the scenario has absolute names."""
        return self.path.parent.absolute() if self.path else Path.cwd()

    @property
    def warnings_of_text(self) -> tuple[KeyIssue, ...]:
        """The warnings that only the text gives which the scenario was made of."""
        return self._origin.warnings

    def facts(self) -> tuple[str, dict[str, str]]:
        """A title and values by name: see `heatsim.base.shown`."""
        output, steady = self.output, self.time.is_steady
        recorded = {
            "slices": [each.name for each in output.slices],
            "probes": [each.name for each in output.probes],
            "results": [each.name for each in output.results],
        }
        told = {
            "file": str(self.path or "none"),
            "grid": f"{' x '.join(map(str, self.grid.cells))} cells, {self.grid.coordinates}",
            "time": f"{'to the steady state' if steady else f'to {self.time.end:g} s'}, {self.time.integrator}",
            "device": f"{self.compute.device}, {self.compute.precision}",
            "materials": ", ".join([*self.materials, *self.ambients]),
            "sources": str(len(self.sources)),
            **{name: ", ".join(names) for name, names in recorded.items() if names},
        }
        return f"Scenario {self.title!r}" if self.title else "Scenario", told

    def __repr__(self) -> str:
        return as_text(*self.facts())

    def __str__(self) -> str:
        return repr(self)

    def __hash__(self) -> int:
        return hash(self.to_toml())  # for caches of results; equal scenarios have equal texts

    def _repr_html_(self) -> str:
        return as_html(*self.facts())

    def issue_at(self, key: Key, message: str, hint: str = "") -> Issue:
        """Return an issue for a `ScenarioError`, placed at the line of `key`, such as ("regions", 2, "sphere").

        Where the key itself was not given, the nearest one around it is named.
        """
        return self._positions.issue_at(key, message, hint)

    def to_toml(self) -> str:
        """Return the scenario as TOML with all defaults filled in and file names absolute.

        It loads again to an equal scenario.
        """
        document = self.model_dump(mode="json", by_alias=True)
        conducts = "conductivity" if self.solved.is_temperature else "diffusivity"
        for name in self.ambients.keys() - self.exchanging_ambients.keys():
            del document["ambients"][name]
            document["materials"][name] = {conducts: 0.0}
        document = in_keys_of_quantity(document, self.solved)
        return tomli_w.dumps(_without_empty(document))


def _without_empty(table: dict[str, Any]) -> dict[str, Any]:
    """Leave out what is None or empty, which TOML cannot say or need not."""
    return {key: _plain(value) for key, value in table.items() if value is not None and value not in ([], {})}


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return _without_empty(value)
    return [_plain(item) for item in value] if isinstance(value, list) else value


def find_material_dependence(scenario: Scenario) -> Key | None:
    """The key of the first property or latent heat of a material that regions name and that depends on temperature, so
    that the interior of the body is not linear; None if there is none."""
    used = {region.material for region in scenario.regions}
    used |= {name for region in scenario.regions if region.labels for name in region.labels.map.values()}
    for name, material in scenario.materials.items():
        for key in material.temperature_dependent_keys() if name in used else ():
            return ("materials", name, key)
    return None


def find_temperature_dependence(scenario: Scenario) -> Key | None:
    """The key of the first thing that depends on temperature, so that the problem is not linear: see
    `find_material_dependence`, a radiating face, a coefficient or a source that is not linear; None if nothing does."""
    material = find_material_dependence(scenario)
    if material is not None:
        return material
    for face, condition in scenario.boundary.conditions():
        if condition.temperature_dependent:
            return face[:2]
    for name, ambient in scenario.ambients.items():
        if ambient.by_surface:
            return ("ambients", name)
    for number, contact in enumerate(scenario.contacts):
        if contact.varies:
            return ("contacts", number)
    for name in scenario.face_terms:
        return (name,)
    smoothed = any(smooth.target == "sources" for smooth in scenario.smoothing)
    for number, source in enumerate(scenario.sources):
        if source.following_temperature is not None and (source.loss is None or smoothed):
            return ("sources", number)
    return None


def find_losses(scenario: Scenario) -> frozenset[int]:
    """The numbers of the sources that are losses: those linear in temperature, in a problem that is linear; in another
    none is."""
    if find_temperature_dependence(scenario) is not None:
        return frozenset()
    return frozenset(number for number, source in enumerate(scenario.sources) if source.loss is not None)
