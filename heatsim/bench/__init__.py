"""Benchmarks: verify kernels, then time them, and say on what machine and by which command.

- `measure`: interleaved rounds by the device's clock, best and median
- `copying`: the copy limit, which everything is measured against
- `machine`: device, versions, load
- `children`: processes that compile with an empty cache, or run under a profiler; `counters`: NVIDIA Nsight Compute
- `report`: tables for the terminal and for Markdown, sections of a document between markers
- `command`: what the command line calls for any of them
- `asked`: what all benchmarks are asked alike, and the command that asks it
- `stencil`, `convolution`, `integrators`: the benchmarks
"""
