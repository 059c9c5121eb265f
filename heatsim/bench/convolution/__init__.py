"""`heatsim bench convolution`: verify the smoothing, filter bank and pooling kernels and their peers, then time them.

- `options`: what was asked for
- `problems`: what is verified and timed; `reference`: the same in plain NumPy and float64
- `ours`: heatsim's kernels; `peers`: other programs, each in a process of its own (`peer`, `libraries`)
- `ahead`: GPU kernels compiled by all cores before anything else
- `verify`, `timing`, `theory`, `limits`: agreement, rates, what theory counts, and the arithmetic limit
- `benchmark`: all of it in order; `table`: how it is shown
"""
