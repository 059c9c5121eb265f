"""`heatsim bench convolution`: verify the smoothing, filter bank and pooling kernels and their peers, then time them.

- `options`: what was asked for; `kernels_under_test`: heatsim's kernels, and whether they agree
- `problems`: what is verified and timed, and the same in plain NumPy and float64
- `cuda_launches`: CUDA kernels on fields that are on the GPU
- `peers`: other programs, each in a process of its own (`peer_process`)
- `rates`: rates, and what theory counts
- `benchmark`: all of it in order, and the table
"""
