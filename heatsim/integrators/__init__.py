"""Integrators: each advances a state by steps that it is told. `simulation` owns time: events, step sizes, the end."""
