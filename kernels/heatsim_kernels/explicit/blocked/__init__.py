"""CUDA, `temporal`: several time steps in one sweep over memory.

`launch` is what the stepper calls. `plan` cuts the grid into marches, `march` is the kernel, made of: `setup` (what a
lane and a block know before they march), `field_planes` (planes to and from memory), `level` (one step of one plane, by
the physics in `differences`, with values beyond the faces of `ghosts`), `cell_classes` (classes as a march reads them),
`class_rates` (the rates of each class) and `boundary_trace` (cells for the ledger).
"""
