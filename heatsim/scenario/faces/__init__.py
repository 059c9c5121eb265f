"""Boundary conditions: one file a kind, with its keys, its affine map, its surface terms and its bounds."""
