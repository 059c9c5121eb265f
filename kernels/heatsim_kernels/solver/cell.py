"""What multigrid computes for one cell, said once: plain functions of values, which CPU and CUDA kernels compile.

    diagonal    D = s + the sum of |g|
    flow        A t = s t + the sum over the neighbours of g (t - t_neighbour)
    relaxed     t + share (b - A t) / D

A kernel reads the values, in the way that is fast on its device, and calls these functions with them. They give the
same bits everywhere, since each product says whether it is rounded before the addition (`product`) or not (`fma`).
"""

from heatsim_kernels.device.fma import fma, product


def seven_diagonal(outside, xl, xu, yl, yu, zl, zu):
    """The diagonal of A for a cell of six faces, W/K: conductance to the outside, then to the lower and the upper
    neighbour along x, y and z."""
    return outside + ((xl + xu) + (yl + yu)) + (zl + zu)


def seven_flow(t, outside, xl, t_xl, xu, t_xu, yl, t_yl, yu, t_yu, zl, t_zl, zu, t_zu):
    """A t for a cell of six faces, W: each conductance is followed by the temperature beyond it."""
    flow = product(outside, t) + product(xl, t - t_xl) + product(xu, t - t_xu)
    flow = flow + product(yl, t - t_yl) + product(yu, t - t_yu)
    return flow + product(zl, t - t_zl) + product(zu, t - t_zu)


def added_flow(flow, g, t, t_beyond):
    """What has been summed up of A t, and what flows to one more neighbour; for the cells of 26 neighbours."""
    return fma(g, t - t_beyond, flow)


def added_size(size, g):
    """What has been summed up of the diagonal, and one more conductance; those of coarse levels may be negative."""
    return size + abs(g)


def relaxed(t, b, flow, diagonal, share):
    """Jacobi's relaxation of a cell, of which `share` is taken."""
    return t + share * (b - flow) / diagonal


def relaxed_from_zero(b, diagonal, share):
    """The relaxation of a field of zeros."""
    return share * b / diagonal


def residual(b, flow):
    """b - A t."""
    return b - flow


def with_lower(value, f, w):
    """What restriction has summed up for a coarse cell, and the share 1 - w of the fine cell `f` below it."""
    return value + (f - product(w, f))


def with_upper(value, f, w):
    """What restriction has summed up for a coarse cell, and the share w of the fine cell `f` above it."""
    return value + product(w, f)


def mean(lower, upper, w):
    """w lower + (1 - w) upper, for the fine cell between two coarse ones: exact where both are equal."""
    return upper + product(w, lower - upper)
