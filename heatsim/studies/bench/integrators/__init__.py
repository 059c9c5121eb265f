"""`heatsim bench integrators`: how long each integrator takes to which accuracy.

- `problems`: what is solved, and its exact solution or a fine one
- `benchmark`: the options, a run for each integrator and tolerance, the table and the figure
"""
