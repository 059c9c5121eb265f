"""A scenario made concrete: grid, zones, exchange rates, faces, sources, stable step.

problem = build_problem(scenario)            # arrays and numbers; raises ScenarioError
stepper.field.put(problem.initial_planes())  # offsets from problem.reference
stepper.advance(dt, steps, problem.forcing(times))
"""

from heatsim.problem.building import build_problem
from heatsim.problem.problem import Problem

__all__ = ["Problem", "build_problem"]
