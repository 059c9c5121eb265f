"""`heatsim bench`, and what the scripts in benchmarks/ share: verify, then time in turn, then say what was found.

- `harness`: contenders that race (`race`), a table of what was found (`show`), the options of scripts, and a `Suite`,
  which is a benchmark of `heatsim bench`
- `timing`: several subjects in turn, round after round; when rounds are too short or too uneven for a ratio
- `limits`: the copy limit and the arithmetic limit, which rates are measured against
- `machine`: device, versions, load
- `children`: processes that compile with an empty cache, compile ahead, or hold another library
- `stencil`, `convolution`, `integrators`: the benchmarks, each the `SUITE` of its module `benchmark`
"""
