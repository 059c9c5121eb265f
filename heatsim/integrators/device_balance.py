"""The heat balance of every cell, computed and solved on the GPU.

Fields stay there from step to step; what comes back are sums. Inputs are made on the host: walls go to the GPU as the
planes beside them, and a source by cell only when it changes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from heatsim_kernels.multigrid import cuda
from heatsim_kernels.multigrid.cuda_walls import Wall, Walls
from heatsim_kernels.multigrid.solver import Solution, Solver

from heatsim.integrators.balance import SAME_STEP, Balance, Inputs

if TYPE_CHECKING:
    from heatsim.problem import Problem


class DeviceBalance(Balance):
    """As `Balance`; fields that it is given and gives are those of `heatsim_kernels.multigrid.cuda`, float64."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self._shape = problem.terms.shape
        host: Any = self._operator
        faces = {name: cuda.put(getattr(host, name)) for name in ("gx", "gy", "gz")}
        self._nothing_outside: Any = cuda.field(self._shape, problem.dtype)
        self._operator: Any = replace(host, s=self._nothing_outside, **faces)
        self.capacity: Any = cuda.put(self.capacity) if np.ndim(self.capacity) else float(self.capacity)
        self._walls: tuple[Inputs | None, Walls] = None, Walls(self._shape, ())
        self._heat: tuple[np.ndarray | None, Any] = None, None
        self._outside: Any = None  # s in float64
        self._whole_outside = 0.0

    def exchange(self, T: Any) -> Any:
        """Heat that each cell gives to its neighbours, W."""
        out = cuda.room(self._shape, np.float64)
        cuda.sweep((self._operator.gx, self._operator.gy, self._operator.gz), self._nothing_outside, T, None, None, out)
        return out

    def flow(self, inputs: Inputs, T: Any, exchange: Any) -> Any:
        """G: heat that flows into each cell, W; `exchange` is that of T."""
        if self._heat[0] is not inputs.sources:
            heat = cuda.put(inputs.sources) if inputs.sources.ndim else float(inputs.sources)
            self._heat = inputs.sources, heat
        flow = self._heat[1] - exchange
        self._walls_of(inputs).add(flow, T)
        return flow

    def entering(self, inputs: Inputs, T: Any) -> np.ndarray:
        """(6,) heat that enters through each face, W."""
        return self._walls_of(inputs).entering(T)

    def prepare(self, inputs: Inputs, time_step: float) -> None:
        """As of `Balance`; the outside is summed up in float64."""
        self._time_step = time_step
        same_step = self._matrix_step == time_step or abs(self._matrix_step - time_step) < SAME_STEP * time_step
        if self._solver is not None and same_step and np.array_equal(self._a, inputs.a):
            return
        ties = [
            Wall(face.number, np.zeros(face.conductance.shape), -face.conductance * inputs.a[face.values])
            for face in self._faces
        ]
        still = cuda.field(self._shape, np.float64)
        self._outside = still + self.capacity * (1.0 / time_step)
        Walls(self._shape, ties).add(self._outside, still)
        self._whole_outside = cuda.extent(self._outside)[2]
        s = cuda.room(self._shape, self._problem.dtype).put(self._outside)
        if self._solver is None:
            self._solver = Solver(replace(self._operator, s=s), cuda)
        else:
            self._solver.set_outside(s)
        self._matrix_step, self._a = time_step, inputs.a

    def solve(self, rhs: Any, guess: Any, *, tolerance: float, accuracy: float, iterations: int) -> Solution:
        """As of `Balance`."""
        if self._solver is None:
            raise RuntimeError("prepare comes first")
        b = cuda.put(rhs)
        found = self._solver.solve(b, guess, tolerance=tolerance, accuracy=accuracy, max_iterations=iterations)
        missing = cuda.extent(b)[2] - cuda.dot(self._outside, found.x)
        return replace(found, x=found.x + missing / self._whole_outside)

    def _walls_of(self, inputs: Inputs) -> Walls:
        if self._walls[0] is not inputs:
            walls = [
                Wall(face.number, face.conductance * inputs.a[face.values], face.conductance * inputs.b[face.values])
                for face in self._faces
            ]
            self._walls = inputs, Walls(self._shape, walls)
        return self._walls[1]
