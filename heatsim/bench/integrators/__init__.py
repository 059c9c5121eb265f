"""`heatsim bench integrators`: how long each integrator takes to which accuracy.

- `options`: what was asked for
- `problems`: what is solved, and its exact solution or a fine one
- `benchmark`: all of it in order, a row for each integrator and tolerance; `table`: how it is shown
"""
