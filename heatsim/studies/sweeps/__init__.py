"""Families of runs: one scenario with other parameters each time.

`runs` takes the runs, here or in worker processes; `table` keeps what came of them; `gradients` has derivatives of a
steady state's results. The parameters are those of `heatsim.scenario.sweep`.
"""
