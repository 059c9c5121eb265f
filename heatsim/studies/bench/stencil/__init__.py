"""`heatsim bench stencil`: verify the stencil kernels, then time them.

- `problems`: heat problems to verify and to time, explicit steps in plain NumPy, and what theory counts
- `kernels`: the kernels of a device, and whether they agree
- `benchmark`: all of it in order, the table and the roofline
"""
