"""CPU: explicit steps on all cores.

`stepper` is the host side. `tile_plan` cuts the grid, `fused_pass` marches through the tiles, `row_places` says where
rows lie, `rows` and `row_vectors` take a step of a row, `boundary_faces` makes ghost values and counts heat,
`class_runs` cuts rows into runs of one cell class and finds rows that are alike, and `trapezoidal_defect` serves the
error control of `rkl2`.
"""
