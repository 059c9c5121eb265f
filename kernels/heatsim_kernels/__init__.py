"""The kernel library of heatsim: stencil sweeps and reductions, on the CPU and on CUDA devices.

It knows arrays and numbers, no files and no scenario. Its rooms:

- `stencil`: one data movement a file (`cpu`, `basic`, ...) times the physics of `stencil/physics.py`
- `fma`: the one multiply-add that every target rounds alike, which is why every kernel gives the same bits
- `cpu_memory`: loads and stores that the CPU vectoriser understands
- `cuda_api`: the only file that imports `numba.cuda`
"""
