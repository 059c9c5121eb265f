"""Families of runs: one scenario with other parameters each time.

`points` says which parameters a sweep takes, `points_of`; `runs` takes the runs, here or in worker processes; `table`
keeps what came of them.
"""
