"""`heatsim bench convolution`: verify the smoothing, filter bank and pooling kernels, then time them.

- `problems`: what is verified and timed, and the same in plain NumPy and float64; needs NumPy alone
- `kernels`: heatsim's kernels, and whether they agree; `cuda_launches`: CUDA kernels on fields that are on the GPU
- `benchmark`: all of it in order, and the table
"""
