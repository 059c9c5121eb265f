"""`heatsim bench`, and the harness of the scripts in benchmarks/: verify, then time in turn, then say what was found.

- `harness`: contenders that race (`race`), a table of what was found (`show`), and a `Suite`, which is a benchmark
- `machine`: device, versions, load; the copy limit and the arithmetic limit, which rates are measured against
- `stencil`, `convolution`, `integrators`: the benchmarks, each the `SUITE` of its module `benchmark`
"""
