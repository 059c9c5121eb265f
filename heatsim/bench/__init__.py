"""`heatsim bench`: verify kernels and integrators, time them, and say on what machine and by which command.

- `harness`: the steps of every benchmark (`BenchmarkSuite`) and its report; `request`: what all are asked for alike
- `interleaved_timing`: several subjects in turn, round after round; best and median
- `device_limits`: the copy limit and the arithmetic limit, which rates are measured against
- `agreement`: the first flaw of a kernel, and the bits that differ
- `machine`: device, versions, load
- `subprocesses`: processes that compile with an empty cache, compile ahead, or run under a profiler
- `stencil`, `convolution`, `integrators`: the benchmarks, each the `SUITE` of its module `benchmark`
"""
