"""Random problems whose properties depend on temperature, judged by a reference that shares no code with heatsim.

`python -m random_problems --first 0 --count 300` (from tests/) prints a line for each problem and the counts.

    generator   problem number n -> a scenario, as a dictionary with its CSV files
    curves      enthalpy, temperature and Kirchhoff's potential of its materials, from the scenario alone
    inputs      what changes in time: expressions, CSV columns, traces
    network     the cells and what passes between them: the discretisation of docs/methods/discretisation.md
    reference   the method of lines: SciPy's stiff solvers from one discontinuity of the inputs to the next
    judge       runs heatsim, compares, and says whether the difference is within what was promised
"""
