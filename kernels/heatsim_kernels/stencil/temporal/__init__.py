"""CUDA, `temporal`: several time steps in one sweep over memory.

`launch` is what the stepper calls. `plan` cuts the grid into marches, `march` is the kernel, made of: `setup` (what a
lane and a block know before they march), `field_planes` (planes to and from memory), `level` (one step of one plane, by
the physics in `differences`), `cell_classes` (classes as a march reads them) and `boundary_trace` (cells for the
ledger).
"""
