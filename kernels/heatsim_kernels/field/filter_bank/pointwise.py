"""What ReLU and max pooling do to numbers, said once for every target: plain functions that kernels compile.

A value that is not a number stays one through both, as in other libraries, so that a fault is seen; a zero comes out of
the ReLU without a sign, so that it may be applied before a maximum or after it.
"""


def rectified(value, zero):
    """max(value, 0); `zero` is 0 of the value's type."""
    return zero if value <= zero else value


def larger(best, value):
    """The larger of two, `best` if they are equal. (Not a number is unequal to itself.)"""
    return value if value > best or value != value else best
