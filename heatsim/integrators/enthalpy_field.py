"""A field of enthalpy, seen from outside as the rise of temperature that it stands for.

Sweeps of materials that follow temperature advance u = (H - H_ref)/C_ref (`heatsim_kernels.enthalpy`), which
keeps energy whatever the tables hold, and tells how much of a melting cell is liquid; all others speak of temperature.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from heatsim_kernels.enthalpy.coefficients import NonlinearCoefficients, NonlinearForcing
    from heatsim_kernels.field.time_statistics import StatisticsRequest
    from heatsim_kernels.stencil import ExplicitStepper

    from heatsim.problem import Problem

STRAYED = 1e-3  # K beyond the temperatures of a table that rounding may reach


class EnthalpyField:
    """A sweep of enthalpy in the ways of a `ExplicitStepper`, whose values are rises of temperature over the
    reference, K.

    cautions: materials that left the temperatures for which they are told, as far as whole fields were looked at.
    entered: heat that has entered, in place of what the sweep counted, for integrators that do not use its steps.
    """

    def __init__(self, sweep: ExplicitStepper, problem: Problem, name: str) -> None:
        """`name`: of the kernels that compute."""
        self.sweep, self.terms, self.dtype = sweep, problem.terms, problem.dtype
        self.name, self.device = name, sweep.device
        self._terms: NonlinearCoefficients = problem.terms  # type: ignore[assignment]
        self._tables, self._problem = self._terms.tables, problem
        self._told = np.array(problem.tabulated.told if problem.tabulated else ())
        self._strayed: dict[str, str] = {}
        self.entered: np.ndarray | None = None
        if hasattr(sweep, "totals"):  # that of a GPU finds temperatures itself
            self.totals = sweep.totals

    @property
    def cautions(self) -> list[str]:
        """A message for each material that left the temperatures of its table or expression."""
        return list(self._strayed.values())

    def put(self, planes: Iterable[np.ndarray]) -> None:
        """Set the field from rises of temperature, plane by plane (ny, nx), z upwards; what melts is solid."""
        self.sweep.put(
            self._tables.state_of(plane, self._material(z)).reshape(plane.shape) for z, plane in enumerate(planes)
        )

    def field(self) -> np.ndarray:
        """The rise of temperature, (nz, ny, nx), a copy."""
        return self._risen(self.sweep.field())

    def capture(self) -> Callable[[], np.ndarray] | None:
        """A function that gives `field` as of now, later and from any thread; None where that cannot be."""
        fetch = self.sweep.capture()
        return None if fetch is None else lambda: self._risen(fetch())

    def plane(self, axis: int, index: int) -> np.ndarray:
        """One plane; axis 0, 1, 2 is z, y, x of the array."""
        kinds = self._terms.kinds
        material = self._terms.material[0 if kinds is None else kinds.take(index, axis)]
        return self._tables.temperature(self.sweep.plane(axis, index), material).astype(self.dtype)

    def cells(self, indices: np.ndarray) -> np.ndarray:
        """The values of some cells, by flat index; any shape."""
        return self._tables.temperature(self.sweep.cells(indices), self._material_of(indices)).astype(self.dtype)

    def enthalpies(self, indices: np.ndarray) -> np.ndarray:
        """u of some cells, K: over that at the reference, for the heat capacity there."""
        return self.sweep.cells(indices)

    def melted_fraction(self) -> np.ndarray:
        """(nz, ny, nx) share of each cell that has melted, 0 to 1; 0 of materials that do not melt."""
        u = self.sweep.field()
        melted = np.empty(u.shape, self.dtype)
        for z, plane in enumerate(u):
            melted[z] = self._tables.melted_fraction(plane, self._material(z))
        return melted

    def stored(self) -> float:
        """Heat over that at the reference temperature, J."""
        return self.sweep.stored()

    def is_finite(self) -> bool:
        """Whether every value is a finite number."""
        return self.sweep.is_finite()

    def was_finite(self) -> bool:
        """`is_finite` as it was, without waiting: see `ExplicitStepper`."""
        return self.sweep.was_finite()

    def heat_entered(self) -> np.ndarray:
        """Heat that has entered through each of FACES and from each ambient since the start, J."""
        return self.sweep.heat_entered() if self.entered is None else self.entered.copy()

    def advance(self, dt: float, steps: int, drive: NonlinearForcing) -> None:
        """Advance `steps` steps of `dt` seconds."""
        self.sweep.advance(dt, steps, drive)  # type: ignore[arg-type]

    def watch(self, wanted: StatisticsRequest) -> None:
        """Watch the temperature from now on: see `ExplicitStepper`."""
        self.sweep.watch(wanted)

    def look(self, elapsed: float) -> None:
        """Take note of the temperature, if it is watched, `elapsed` s after the last look."""
        self.sweep.look(elapsed)

    def seen(self) -> dict[str, np.ndarray]:
        """What was seen of the rise of temperature so far: see `CpuWatch.fields`."""
        return self.sweep.seen()

    def _risen(self, u: np.ndarray) -> np.ndarray:
        rises = np.empty(u.shape, self.dtype)
        for z, plane in enumerate(u):
            material = self._material(z)
            rise = self._tables.temperature(plane, material)
            self._watch(rise, material)
            rises[z] = rise
        return rises

    def _material(self, z: int) -> np.ndarray:
        kinds = self._terms.kinds
        return np.asarray(self._terms.material[0 if kinds is None else kinds[z]])

    def _material_of(self, indices: np.ndarray) -> np.ndarray:
        kinds = self._terms.kinds
        return np.asarray(self._terms.material[0 if kinds is None else kinds.reshape(-1)[indices]])

    def _watch(self, rise: np.ndarray, material: np.ndarray) -> None:
        """Tell once of a material that leaves the temperatures for which it is told."""
        for number, name in self._still_inside():
            own = rise if material.ndim == 0 else rise[material == number]
            if (material.ndim == 0 and material != number) or not own.size:
                continue
            low, high = self._told[number]
            if own.min() < low - STRAYED or own.max() > high + STRAYED:
                self._stray(name, low, high, own)

    def _still_inside(self) -> Iterator[tuple[int, str]]:
        for number, name in enumerate(self._problem.scenario.materials):
            if name not in self._strayed and np.isfinite(self._told[number]).any():
                yield number, name

    def _stray(self, name: str, low: float, high: float, rise: np.ndarray) -> None:
        unit, reference = self._problem.scenario.temperature_unit, self._problem.reference
        reached = float(rise.max() if rise.max() > high else rise.min()) + reference
        self._strayed[name] = (
            f"materials.{name}: {reached:.6g} {unit} was reached, and its properties are known from "
            f"{low + reference:.6g} to {high + reference:.6g} {unit}: beyond, they go on with the last values"
        )
