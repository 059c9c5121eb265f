"""`heatsim verify` and `heatsim converge`: runs judged against exact and published answers, and against each other.

- `problems`, `standards`: what is asked of the scenarios under scenarios/verify/, and the answers; `exact`: solutions
- `judgement`: what a problem, a check and a figure are, and judges that several problems share
- `refinement`: a scenario on a finer grid or with a shorter step; `order`: observed orders, extrapolation, restriction
- `finished`: what is read of a finished run
- `command`, `problem_runs`, `report`: `heatsim verify`
- `convergence`, `study`: `heatsim converge`
"""
