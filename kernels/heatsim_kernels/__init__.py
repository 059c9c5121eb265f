"""The kernel library of heatsim: stencil sweeps and reductions, on the CPU and on CUDA devices.

It knows arrays and numbers, no files and no scenario. Its rooms:

- `device`: compiling, caching, launching, arrays, vectors; `device/cuda/api.py` alone imports `numba.cuda`, and
  `device/fma.py` has the one multiply-add that every target rounds alike, so that all kernels give the same bits
- `field`: the field of a run on the CPU or a GPU; smoothing passes, and the filters that find hot spots
- `explicit`: explicit steps: kernel variants times the physics of `explicit/physics.py`; temperature dependence
- `solver`: the linear solver of implicit steps and steady states, and linearised problems
"""
