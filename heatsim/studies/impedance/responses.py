"""The thermal impedance of a body, by a run for each source.

A linear body that is at rest warms by Z(t) kelvin when a source begins to release one watt. Each run has one source on,
and one more has none: what that one does by itself is taken off. Steps are implicit (TR-BDF2) and end at the times that
are recorded, so they grow with these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import ceil, log10
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

from heatsim.base.shown import Shown
from heatsim.errors import RequestError, ScenarioError
from heatsim.output.recorders.probes import ProbeReader
from heatsim.problem import Problem, build_problem
from heatsim.scenario import Expression, Scenario, find_temperature_dependence
from heatsim.scenario.language.expressions.expression import depends_on
from heatsim.scenario.language.toml.positions import Key
from heatsim.scenario.sources import Source
from heatsim.simulation.device_selection import choose_device
from heatsim.simulation.time_loop import Timings, simulate
from heatsim.solve.integrators import make_field
from heatsim.solve.state import State

TOLERANCE = 1e-5  # of a step, as a share of the range of temperatures: early rises are small
DECADES = 6  # before the end, from which the impedance is recorded unless told otherwise


@dataclass(frozen=True, repr=False, eq=False)  # arrays have no single truth: each is equal to itself
class ThermalImpedance(Shown):
    """What places warm for a watt of each source.

    times: (n,) s since the power began. places, sources: names. values: (places, sources, n) K/W.
    """

    times: np.ndarray
    places: tuple[str, ...]
    sources: tuple[str, ...]
    values: np.ndarray

    def facts(self) -> tuple[str, dict[str, str]]:
        """A title and values by name: see `heatsim.base.shown`."""
        told = {
            f"{place} by {source}": f"{self.values[i, j, -1]:.6g} K/W at the end"
            for i, place in enumerate(self.places)
            for j, source in enumerate(self.sources)
        }
        span = f"{len(self.times)} times from {self.times[0]:.3g} to {self.times[-1]:.3g} s"
        return f"ThermalImpedance at {span}", told

    def picture(self) -> bytes:
        """The curves over time, a PNG."""
        from heatsim.studies.impedance.files import draw_impedance

        with TemporaryDirectory() as place:
            path = Path(place) / "zth.png"
            draw_impedance(path, self)
            return path.read_bytes()

    def rises(self, times: np.ndarray, powers: np.ndarray) -> np.ndarray:
        """How much each place warms by powers of the sources, by superposition; (places, m) K.

        times: (m,) s, rising. powers: (sources, m) W, linear in between; before the first time there is none. After the
        last time of the impedance it counts as constant.
        """
        times, powers = np.asarray(times, float), np.atleast_2d(np.asarray(powers, float))
        if times.ndim != 1 or powers.shape != (len(self.sources), len(times)) or np.any(np.diff(times) <= 0):
            expected = f"rising times (m,) and powers ({len(self.sources)}, m)"
            raise RequestError(f"expected {expected}, found {times.shape} and {powers.shape}")
        rises = np.zeros((len(self.places), len(times)))
        for source, power in enumerate(powers):
            rises += power[0] * _step_responses(self.times, self.values[:, source], times - times[0])
            slopes = np.diff(power, prepend=power[0]) / np.diff(times, prepend=times[0] - 1.0)
            bends = np.append(np.diff(slopes), -slopes[-1])  # at each time
            bent = np.flatnonzero(bends)
            rises += _ramp_responses(self.times, self.values[:, source], times, times[bent], bends[bent])
        return rises


def _step_responses(nodes: np.ndarray, values: np.ndarray, since: np.ndarray) -> np.ndarray:
    """(places, m) K/W at times since a step, of values (places, n) at nodes: linear in log t, as t before the first
    node, constant after the last."""
    early, logs = np.clip(since / nodes[0], 0.0, 1.0), np.log(np.maximum(since, nodes[0]))
    return np.array([early * np.interp(logs, np.log(nodes), row) for row in values])


def _ramp_responses(
    nodes: np.ndarray, values: np.ndarray, times: np.ndarray, begun: np.ndarray, slopes: np.ndarray
) -> np.ndarray:
    """(places, m) K at some times of ramps of slopes (k,) W/s begun (k,) s: the integrals of the step responses."""
    since = np.maximum(times[:, None] - begun, 0.0)
    after = np.maximum(since, nodes[0])
    node = np.searchsorted(nodes, after, side="right") - 1
    linear, curved = _parts(nodes[node], after)
    early = 0.5 * np.minimum(since, nodes[0]) ** 2 / nodes[0]
    whole = _parts(nodes[:-1], nodes[1:])
    rises = []
    for row in values:
        bends = np.append(np.diff(row) / np.diff(np.log(nodes)), 0.0)
        before = np.concatenate(([0.0], np.cumsum(row[:-1] * whole[0] + bends[:-1] * whole[1])))
        rises.append((before[node] + row[node] * linear + bends[node] * curved + row[0] * early) @ slopes)
    return np.array(rises)


def _parts(begin: np.ndarray, end: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The integrals of 1 and of log(t / begin) over begin < t < end."""
    return end - begin, end * np.log(end / begin) - (end - begin)


def find_impedance(
    scenario: Scenario,
    first: float | None = None,
    per_decade: int = 10,
    on_run: Callable[[str], None] = lambda name: None,
) -> ThermalImpedance:
    """The thermal impedance of a scenario, at its probes and, as means, of its `output.regions`.

    first: the first time, s; the last is `time.end`. on_run: told the name of each source before its run. Raises
    `ScenarioError` for what has no impedance, and `HeatsimError` in its kinds.
    """
    given = _linear(scenario)
    driven = list(_driven_sources(given))
    last = given.time.end
    begin = last * 10.0**-DECADES if first is None else first
    if not 0.0 < begin < last:
        raise RequestError(f"expected a first time between 0 and time.end = {last:g} s, found {begin:g}")
    times = last * 10.0 ** (np.arange(-ceil(per_decade * log10(last / begin) - 1e-9), 1) / per_decade)
    losses = [source for source in given.sources if source.loss is not None]
    alone, energy_alone = _run(given, losses, times)
    values = []
    for each in driven:
        on_run(each.name)
        found, energy = _run(given, [*losses, each.source], times)
        values.append((found - alone) * last / (energy - energy_alone))
    places = [probe.name for probe in given.output.probes]
    places += [f"{region.name} mean" for region in given.output.regions]
    return ThermalImpedance(times, tuple(places), tuple(each.name for each in driven), np.stack(values, axis=1))


class _Driven(NamedTuple):
    """A source that is switched on: its name, and what of it does not depend on time."""

    name: str
    source: Source


def _linear(scenario: Scenario) -> Scenario:
    """The scenario, as its runs take it; raises `ScenarioError` at what has no impedance."""
    key = find_temperature_dependence(scenario)
    linear = "an impedance is that of a linear body: give a number, that at its working temperature"
    if key is not None:
        raise ScenarioError([scenario.issue_at(key, "expected nothing that depends on temperature", linear)])
    if scenario.quantity is not None:
        raise ScenarioError([scenario.issue_at(("quantity",), "expected temperature", "Zth is in K/W")])
    if scenario.time.is_steady:
        message = "expected an end in time, found a steady state"
        raise ScenarioError([scenario.issue_at(("time", "integrator"), message, "--set time.integrator=implicit")])
    if not scenario.output.probes and not scenario.output.regions:
        hint = 'add [[output.regions]] with name = "junction" and a material or a shape'
        raise ScenarioError([scenario.issue_at(("output",), "expected probes or regions to warm, found none", hint)])
    conditions: list[tuple[Key, Any]] = [(key[:2], each) for key, each in scenario.boundary.conditions()]
    conditions += [(("ambients", name), each) for name, each in scenario.exchanging_ambients.items()]
    for key, condition in conditions:
        if _depends(getattr(condition, "coefficient", None), "t"):
            raise ScenarioError([scenario.issue_at(key, "expected a coefficient that does not depend on t", linear)])
    control = {"integrator": "implicit", "method": "tr-bdf2", "tolerance": TOLERANCE, "step": "auto", "periodic": None}
    compute = scenario.compute.model_copy(update={"precision": "float64", "kernel": "auto"})
    return scenario.model_copy(update={"time": scenario.time.model_copy(update=control), "compute": compute})


def _driven_sources(scenario: Scenario) -> Iterator[_Driven]:
    """The sources that release power, each constant in time."""
    count = 0
    for number, source in enumerate(scenario.sources):
        if source.loss is not None:
            continue
        shared = [each.material for each in scenario.sources].count(source.material) > 1
        name = source.name or (source.material if source.material and not shared else f"source {number + 1}")
        amount = source.power if source.power_density is None else source.power_density
        if source.beam is not None:
            message = "expected a source that stays where it is, found a beam"
            raise ScenarioError([scenario.issue_at(("sources", number, "beam"), message)])
        if source.powers is not None:
            message = "expected a source for each block, found the powers of all in one"
            hint = "power = 1.0 and region.floorplan.unit name one block"
            raise ScenarioError([scenario.issue_at(("sources", number, "powers"), message, hint)])
        if source.trace is not None or (source.power is not None and not _depends(amount, "xyz")):
            source = source.model_copy(update={"trace": None, "power": 1.0})
        elif _depends(amount, "t"):
            message = "expected a density that does not depend on t"
            raise ScenarioError([scenario.issue_at(("sources", number), message, "its place is what counts here")])
        count += 1
        yield _Driven(name, source)
    if not count:
        raise ScenarioError([scenario.issue_at(("sources",), "expected a source of power, found none")])


def _depends(value: Any, names: str) -> bool:
    return isinstance(value, Expression) and depends_on(value, names)


def _run(scenario: Scenario, sources: list[Source], times: np.ndarray) -> tuple[np.ndarray, float]:
    """(places, n) temperatures at some times with these sources alone, and the energy that they have released, J."""
    changed = scenario.model_copy(update={"sources": type(scenario.sources)(sources)})
    problem = build_problem(changed)
    state = State(problem, make_field(problem, choose_device(changed).kernel))
    reader = _PlaceReader(problem, times)
    simulate(state, [reader], Timings())
    return np.array(reader.found).T, state.source_energy


class _PlaceReader:
    """A recorder of the temperatures of probes, and of the means of regions."""

    checks_finite_itself = False

    def __init__(self, problem: Problem, times: np.ndarray) -> None:
        probes = problem.scenario.output.probes
        self.times, self.found = tuple(times.tolist()), list[list[float]]()
        self._probes = ProbeReader(problem, probes) if probes else None
        self._regions, self._reference = problem.statistics_regions, problem.reference

    def record(self, state: State) -> None:
        """Read all of them."""
        read = [] if self._probes is None else self._probes.read(state)
        for part in self._regions:
            _, _, by_volume, _ = state.totals(part.cells)
            read.append(by_volume / float(part.cells.volumes.sum()) + self._reference)
        self.found.append(read)

    def state(self) -> dict[str, int]:
        """Nothing to save: such a run is not resumed."""
        return {}

    def restore(self, saved: dict[str, int]) -> None:
        """Nothing to restore."""

    def close(self, finished: bool) -> None:
        """Nothing to close."""
