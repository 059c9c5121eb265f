"""`heatsim bench stencil`: verify the stencil kernels, then time them.

- `options`: what was asked for; `kernels_under_test`: the kernels of a device, and whether they agree
- `problems`: heat problems to verify and to time, and explicit steps in plain NumPy
- `rates`: rates, and the operations and bytes that theory counts; `compile_and_counters`: numbers from child processes
- `benchmark`: all of it in order, the table and the roofline
"""
