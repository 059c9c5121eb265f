"""`heatsim bench stencil`: verify the stencil kernels, then time them.

- `problems`: heat problems to verify and to time, and explicit steps in plain NumPy
- `kernels`: the kernels of a device, and whether they agree
- `theory`: the operations and bytes that theory counts; `counters`: numbers from child processes
- `benchmark`: all of it in order, the table and the roofline
"""
