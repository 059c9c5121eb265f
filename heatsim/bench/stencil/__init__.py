"""`heatsim bench stencil`: verify the stencil kernels, then time them.

- `options`: what was asked for; `contenders`: the kernels that a device has
- `problems`: heat problems to verify and to time; `reference`: explicit steps in plain NumPy
- `verify`, `timing`, `theory`: agreement, rates, and the operations and bytes that theory counts
- `extras`: compile times and hardware counters, from child processes (`child`)
- `benchmark`: all of it in order; `table`, `picture`: how it is shown
"""
