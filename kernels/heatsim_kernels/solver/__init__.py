"""Multigrid: the linear systems of implicit and steady heat conduction.

- `operator`: the system A T = b as face conductances and couplings to the outside; `assembly` makes it from a problem's
  `StencilCoefficients`
- `solver`: conjugate gradients in float64, preconditioned by a cycle in float32
- `hierarchy`: the cycle, and which cells coarse grids keep
- `cell`, `galerkin`: what is computed of a cell, once for all devices
- `cpu.operations`: the kernels on the CPU; a module of the same functions is all that another device needs.
  `cpu.sweeps` passes over a level, `cpu.transfers` goes from one level to the next
- `slabs`: the same for a grid whose planes lie on several processes
- `cuda.operations`: the same on a GPU (`cuda.sweeps`, `cuda.gradient_passes`), on `cuda.values`, which stay there
"""
