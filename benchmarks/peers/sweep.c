/* Explicit 7-point sweeps on an n^3 grid with a layer of ghost cells: the loop one writes by hand, nothing cleverer.
   Step s reads `even` and writes `odd` when s is even, and the other way round. REAL is set on the command line, and
   so is HALF_SLOPE where the conductivity depends on the temperature. */
#ifdef HALF_SLOPE
static inline REAL potential(REAL u) { return u * (1 + (REAL)HALF_SLOPE * u); }
#else
static inline REAL potential(REAL u) { return u; }
#endif

void advance(REAL *even, REAL *odd, long n, REAL number, long steps)
{
    const long row = n + 2, plane = row * row;
    #pragma omp parallel
    for (long s = 0; s < steps; s++) {
        const REAL *restrict u = s % 2 ? odd : even;
        REAL *restrict v = s % 2 ? even : odd;
        #pragma omp for schedule(static)
        for (long k = 1; k <= n; k++)
            for (long j = 1; j <= n; j++) {
                #pragma omp simd
                for (long i = 1; i <= n; i++) {
                    const long c = k * plane + j * row + i;
                    v[c] = u[c] + number * (potential(u[c - 1]) + potential(u[c + 1]) + potential(u[c - row])
                                            + potential(u[c + row]) + potential(u[c - plane])
                                            + potential(u[c + plane]) - 6 * potential(u[c]));
                }
            }
    }
}
