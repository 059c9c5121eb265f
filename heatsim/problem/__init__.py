"""A scenario made concrete: grid, zones, exchange rates, faces, sources, stable step.

problem = build(scenario)            # arrays and numbers; raises ScenarioError
stepper.field.put(problem.initial_planes())  # the rise over problem.reference
stepper.advance(dt, steps, problem.drive(times))
"""

from heatsim.problem.problem import Problem, build_problem

__all__ = ["Problem", "build_problem"]
