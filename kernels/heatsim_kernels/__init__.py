"""The kernel library of heatsim: stencil sweeps and reductions, on the CPU and on CUDA devices.

It knows arrays and numbers, no files and no scenario. Its rooms:

- `runtime`: compiling, caching, launching, arrays, vectors; `runtime/cuda/api.py` alone imports `numba.cuda`, and
  `runtime/fma.py` has the one multiply-add that every target rounds alike, so that all kernels give the same bits
- `field`: the field of a run on the CPU or a GPU
- `stencil`: explicit steps: kernel variants times the physics of `stencil/physics.py`
- `enthalpy`: explicit steps of problems that depend on temperature, and their linearisation
- `multigrid`: the linear solver of implicit steps and steady states
- `convolution`, `filter_bank`: smoothing passes, and the filters that find hot spots
"""
