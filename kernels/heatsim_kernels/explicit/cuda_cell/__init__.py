"""How a cell steps on CUDA: its update, the flux of its faces, heat that is held. All CUDA kernels share it."""
