"""`register` on the CPU: up to 8 filters x 3 vectors of pixels at once, all sums in registers.

    filters of a patch    8 | 8 | 4 | 1        29 filters are taken as 8, 8, 8, 4 and 1
    pixels of a row       48 | 48 | ... | 16   float32 with AVX-512: 3 vectors at a time, then one

A strip is some output rows of a patch's filters; strips are shared out among the threads. A multiply-add takes about
half a load, so arithmetic sets the pace; the response goes to scratch in the L2 cache once and from there, through ReLU
and pooling, to memory.
"""

from __future__ import annotations

import numpy as np
from llvmlite import binding, ir
from numba import get_num_threads, prange, types
from numba.core import cgutils
from numba.extending import intrinsic

from heatsim_kernels.device.cpu.compilation import jit, parallel_jit
from heatsim_kernels.device.cpu.pointers import (
    padded,
    pointer,
    shifted,
    spread,
    vector_at,
    vector_fma,
    widest_vectors,
    word,
)
from heatsim_kernels.device.cpu.threads import limited
from heatsim_kernels.field.filter_bank.cpu.strips import Strips, finish_row, laid_out, layout_of, workers
from heatsim_kernels.field.filter_bank.geometry import BankGeometry


def run(images: np.ndarray, filters: np.ndarray, bias: np.ndarray, shape: BankGeometry, relu: bool) -> np.ndarray:
    """The bank's output; arrays are contiguous and of one type."""
    vector = lanes(images.itemsize)
    layout = layout_of(shape, vector)
    groups = _groups(shape.filters)
    strips = Strips.of(shape, int(groups[0, 1]), layout.columns, images.itemsize, relu)
    count = workers(shape, get_num_threads())
    plane = strips.scratch_rows * layout.columns
    scratch = padded(count * (FILTERS * plane + layout.columns), images.dtype).reshape(count, -1)
    out = np.empty((shape.batch, shape.filters, *shape.output), images.dtype)
    weights = _by_group(filters.reshape(shape.filters, -1), groups)
    with limited(count):
        copy = laid_out(images, shape, layout)
        _respond(copy, weights, bias, out, layout, strips, strips.in_an_image, groups, plane, vector, scratch)
    return out


def _groups(filters: int) -> np.ndarray:
    """(groups, 2): first filter and number of filters of each patch, the largest powers of two first."""
    found, first = [], 0
    while first < filters:
        size = min(FILTERS, 1 << ((filters - first).bit_length() - 1))
        found.append((first, size))
        first += size
    return np.array(found, np.int64)


def _by_group(filters: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Weights in the order that they are read: group, tap, filter of the group."""
    return np.concatenate([filters[first : first + size].T.reshape(-1) for first, size in groups])


@parallel_jit
def _respond(copy, weights, bias, out, layout, strips, each, groups, plane, vector, scratch):
    widest_vectors()
    zero, line = copy.dtype.type(0), layout.columns
    for worker in prange(scratch.shape[0]):
        for task in range(worker, strips.batch * each * len(groups), scratch.shape[0]):
            strip, group = task // len(groups), groups[task % len(groups)]
            image, first = strip // each, strip % each * strips.height
            last, top = min(first + strips.height, strips.out_rows), first * strips.step_y
            response = shifted(pointer(scratch[worker]), line)
            factors, start = shifted(pointer(weights), group[0] * layout.offsets.size), shifted(pointer(bias), group[0])
            for row in range(top, (last - 1) * strips.step_y + strips.window_y):
                pixels = shifted(pointer(copy), image * layout.image + row * layout.row)
                target = shifted(response, (row - top) * line)
                _row(target, plane, pixels, pointer(layout.offsets), factors, start, layout.offsets.size, group[1],
                     vector, line)  # fmt: skip
            for k in range(group[1]):
                for y in range(first, last):
                    source = shifted(response, k * plane + (y - first) * strips.step_y * line)
                    target = pointer(out[image, group[0] + k, y])
                    finish_row(target, source, line, pointer(scratch[worker]), strips, zero)


@jit
def _row(target, plane, pixels, offsets, weights, bias, depth, filters, vector, columns):
    """A row of pixels for a group of filters."""
    widest_vectors()
    x = 0
    while x < columns:
        wide = x + VECTORS * vector <= columns
        t, p = shifted(target, x), shifted(pixels, x)
        if wide and filters == 8:
            respond(t, plane, p, offsets, weights, bias, depth, 8, VECTORS)
        elif wide and filters == 4:
            respond(t, plane, p, offsets, weights, bias, depth, 4, VECTORS)
        elif wide and filters == 2:
            respond(t, plane, p, offsets, weights, bias, depth, 2, VECTORS)
        elif wide:
            respond(t, plane, p, offsets, weights, bias, depth, 1, VECTORS)
        elif filters == 8:
            respond(t, plane, p, offsets, weights, bias, depth, 8, 1)
        elif filters == 4:
            respond(t, plane, p, offsets, weights, bias, depth, 4, 1)
        elif filters == 2:
            respond(t, plane, p, offsets, weights, bias, depth, 2, 1)
        else:
            respond(t, plane, p, offsets, weights, bias, depth, 1, 1)
        x += VECTORS * vector if wide else vector


# Some pixels of a row for some filters, every sum in a vector register.
#
# pixels: 3 vectors            a weight, spread over a vector, meets 3 vectors of pixels;
# weight 0  s s s                        a vector of pixels meets up to 8 weights: 24 multiply-adds
# weight 1  s s s                        for 3 loads of pixels and 8 of weights, enough that
# ...                                    the loads keep up, with 24 of AVX-512's 32 registers
#
# LLVM vectorises the innermost loop alone and keeps no such patch in registers by itself, so the instructions are
# written out. Source: Goto and van de Geijn, Anatomy of high-performance matrix multiplication, ACM TOMS 2008; the
# pixels are read where they lie (offsets), as in Dukhan, The indirect convolution algorithm, 2019.

_WIDE = bool(binding.get_host_cpu_features().get("avx512f"))
VECTOR = 64 if _WIDE else 32  # bytes
FILTERS = 8 if _WIDE else 4  # in a patch, at most: a power of two
VECTORS = 3  # of pixels in a patch, side by side


def lanes(itemsize: int) -> int:
    """Pixels in a vector."""
    return VECTOR // itemsize


@intrinsic(prefer_literal=True)
def respond(typing_context, target, plane, pixels, offsets, weights, bias, depth, filters, vectors):
    """Write bias[k] + sum over t < depth of weights[t filters + k] pixels[offsets[t] + i], in the order of t, to
    target[k plane + i], for all k < filters and i < vectors lanes. `filters` and `vectors` are literal numbers."""
    if not (isinstance(filters, types.IntegerLiteral) and isinstance(vectors, types.IntegerLiteral)):
        return None
    size = filters.literal_value, vectors.literal_value

    def codegen(context, builder, signature, args):
        target, plane, pixels, offsets, weights, bias, depth, _, _ = args
        sums = _begin(builder, bias, size)
        with cgutils.for_range(builder, depth) as loop:
            first = builder.gep(pixels, [builder.load(builder.gep(offsets, [loop.index]))])
            factors = builder.gep(weights, [builder.mul(loop.index, word(size[0]))])
            row = [builder.load(_pixels_at(builder, first, v), align=_bytes(first)) for v in range(size[1])]
            for k, line in enumerate(sums):
                factor = spread(builder, builder.load(builder.gep(factors, [word(k)])), _lanes(factors))
                for total, value in zip(line, row, strict=True):
                    builder.store(vector_fma(builder, factor, value, builder.load(total)), total)
        for k, line in enumerate(sums):
            first = builder.gep(target, [builder.mul(plane, word(k))])
            for v, total in enumerate(line):
                builder.store(builder.load(total), _pixels_at(builder, first, v), align=_bytes(first))
        return context.get_dummy_value()

    index = types.intp
    return types.void(target, index, pixels, offsets, weights, bias, index, filters, vectors), codegen


def _begin(builder, bias, size):
    """The sums, [filter][vector], at their bias; variables that LLVM keeps in registers."""
    sums = []
    for k in range(size[0]):
        start = spread(builder, builder.load(builder.gep(bias, [word(k)])), _lanes(bias))
        line = [cgutils.alloca_once(builder, start.type) for _ in range(size[1])]
        for total in line:
            builder.store(start, total)
        sums.append(line)
    return sums


def _pixels_at(builder, start, number):
    """A pointer to vector `number` from `start` on."""
    return vector_at(builder, start, word(number * _lanes(start)), _lanes(start))


def _lanes(pointer):
    """Elements of a vector of what a pointer points to."""
    return VECTOR // _bytes(pointer)


def _bytes(pointer):
    return 8 if isinstance(pointer.type.pointee, ir.DoubleType) else 4
