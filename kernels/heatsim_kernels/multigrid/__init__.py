"""Multigrid: the linear systems of implicit and steady heat conduction.

- `operator`: the system A T = b as face conductances and ties to the outside; `assembly`: how a problem's
  `StencilCoefficients` give them; `ways`: what passes between cells and the outside
- `solver`: conjugate gradients in float64, preconditioned by a V cycle in float32
- `hierarchy`: the V cycle; `grids` says which cells coarse levels keep, `coarsest` solves the last level
- `cpu`: the kernels on the CPU (`cpu_rows` relaxation and residuals, `cpu_transfers`, `cpu_galerkin`, `cpu_vectors`,
  `cpu_assembly`); a module of the same functions is all that another device needs
- `cuda`: the same on a GPU (`cuda_sweeps`, `cuda_transfers`, `cuda_galerkin`, `cuda_vectors`, `cuda_assembly`), on
  fields (`cuda_field`) that stay there
"""
