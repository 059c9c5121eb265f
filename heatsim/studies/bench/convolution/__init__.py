"""`heatsim bench convolution`: verify the smoothing, filter bank and pooling kernels and their peers, then time them.

- `problems`: what is verified and timed, and the same in plain NumPy and float64
- `kernels`: heatsim's kernels, and whether they agree; `cuda_launches`: CUDA kernels on fields that are on the GPU
- `libraries`: other programs, each in a process of its own
- `theory`: what theory counts
- `benchmark`: all of it in order, and the table
"""
