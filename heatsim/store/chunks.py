"""Chunks of HDF5 datasets, packed and unpacked by threads: HDF5 itself does one thing at a time.

What is written are filters that every HDF5 library has: shuffle, all first bytes of the values before all second
ones, and deflate, whose stream is that of zlib and ends with a checksum (Adler-32) that each reader verifies. Chunks
that are not compressed get Fletcher's checksum (HDF5 file format, III.A, and H5_checksum_fletcher32 in its sources).
ISA-L deflates several times as fast as zlib; where it is not installed, zlib does it. Chunks are written in their order
by one thread, so a file has equal bytes on any number of threads.
"""

from __future__ import annotations

import threading
import zlib
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from math import prod
from typing import Any, Literal

import h5py
import numpy as np

from heatsim.base.arriving import ArrivingArray
from heatsim.base.threads import in_threads, step_back

isal_zlib: Any
try:
    from isal import isal_zlib
except ImportError:  # no wheel for this platform
    isal_zlib = None

Compression = Literal["none", "fast", "small"]
Values = np.ndarray | ArrivingArray
FAST: Compression = "fast"
CHUNK_BYTES = 2**20
_FILTERS = [h5py.h5z.FILTER_SHUFFLE, h5py.h5z.FILTER_DEFLATE]
_FAST_OF_ISAL, _FAST_OF_ZLIB, _SMALL = 2, 1, 6  # levels: of ISA-L 0 to 3, of zlib 1 to 9
_WORDS = 256  # in a row of the table by which a checksum is summed


def chunk_shape(shape: Sequence[int], itemsize: int) -> tuple[int, ...]:
    """Chunks of about 1 MiB at most, nearly cubes, of even sizes along each axis: a plane across any axis reads few."""
    room = max(1, CHUNK_BYTES // itemsize)
    chunk = dict.fromkeys(range(len(shape)), 1)
    for done, axis in enumerate(
        sorted(chunk, key=lambda axis: shape[axis])
    ):  # what a short axis leaves, longer ones take
        side = max(1, int(room ** (1.0 / (len(shape) - done)) + 1e-9))
        chunk[axis] = -(-shape[axis] // -(-shape[axis] // side))
        room = max(1, room // chunk[axis])
    return tuple(chunk[axis] for axis in range(len(shape)))


def create_packed(
    group: h5py.Group,
    name: str,
    shape: Sequence[int],
    dtype: np.dtype,
    compression: Compression = FAST,
    chunks: tuple[int, ...] | None = None,
) -> h5py.Dataset:
    """A dataset of chunks with checksums, compressed unless that is "none"; `write_chunks` fills it."""
    filters: dict[str, Any] = {"fletcher32": True}
    if compression != "none":
        level = _SMALL if compression == "small" else _FAST_OF_ZLIB  # which other programs take that add to the dataset
        filters = {"compression": "gzip", "compression_opts": level, "shuffle": True}
    return group.create_dataset(name, shape, dtype, chunks=chunks or chunk_shape(shape, dtype.itemsize), **filters)


def write_chunks(
    data: h5py.Dataset, values: Values, compression: Compression = FAST, first: Sequence[int] | None = None
) -> None:
    """Write `values` into a dataset of `create_packed` at the place `first` (its origin), a corner of a chunk.

    They end at a corner of a chunk or at the end of the dataset. Takes a few chunks of memory for each thread.
    """
    chunks = data.chunks
    origin = tuple(first or (0,) * values.ndim)

    def pack(start: tuple[int, ...]) -> bytes:
        ends = (min(at + size, end) for at, size, end in zip(start, chunks, values.shape, strict=True))
        return _pack(values, tuple(map(slice, start, ends)), chunks, compression)

    starts = list(product(*(range(0, end, size) for end, size in zip(values.shape, chunks, strict=True))))
    for start, packed in zip(starts, in_threads(pack, starts, len(starts), step_back), strict=True):
        data.id.write_direct_chunk(tuple(map(sum, zip(origin, start, strict=True))), packed)


def read_block(data: h5py.Dataset, block: Sequence[slice | int]) -> np.ndarray:
    """`data[block]`, by threads where the chunks that hold it are many and packed as `create_packed` has it."""
    cuts = [cut if isinstance(cut, slice) else slice(cut, cut + 1) for cut in block]
    spans = [cut.indices(size) for cut, size in zip(cuts, data.shape, strict=True)]
    if not _is_usual(data) or any(step != 1 or high <= low for low, high, step in spans):
        return np.asarray(data[tuple(block)])
    chunks, dtype = data.chunks, data.dtype
    grids = [range(low // size * size, high, size) for (low, high, _), size in zip(spans, chunks, strict=True)]
    starts = list(product(*grids))
    if len(starts) == 1:
        return np.asarray(data[tuple(block)])
    found = np.empty([high - low for low, high, _ in spans], dtype)

    def place(packed: tuple[tuple[int, ...], bytes]) -> None:
        start, content = packed
        brick = _unpack(content, dtype, chunks)
        there, here = [], []
        for at, size, (low, high, _) in zip(start, chunks, spans, strict=True):
            begin, end = max(at, low), min(at + size, high)
            there.append(slice(begin - low, end - low))
            here.append(slice(begin - at, end - at))
        found[tuple(there)] = brick[tuple(here)]

    try:
        deque(in_threads(place, _packed_chunks(data, starts), len(starts)), maxlen=0)
    except _FilterLeftOut:
        return np.asarray(data[tuple(block)])
    return found[tuple(slice(None) if isinstance(cut, slice) else 0 for cut in block)]


def _is_usual(data: h5py.Dataset) -> bool:
    """Whether chunks are packed as `create_packed` has it, compressed."""
    if not data.chunks or not data.size:
        return False
    creation = data.id.get_create_plist()
    return [creation.get_filter(number)[0] for number in range(creation.get_nfilters())] == _FILTERS


class _FilterLeftOut(Exception):
    """A chunk has not been through all filters of its dataset."""


def _packed_chunks(data: h5py.Dataset, starts: Iterable[tuple[int, ...]]) -> Iterator[tuple[tuple[int, ...], bytes]]:
    """The chunks of a dataset as they lie in the file. Raises `_FilterLeftOut`."""
    for start in starts:
        left_out, packed = data.id.read_direct_chunk(start)
        if left_out:
            raise _FilterLeftOut
        yield start, packed


# Threads that pack wait for Python's lock at every call of NumPy: a few calls on whole chunks, in arrays that each
# thread keeps, since the system's memory, taken anew for each chunk, costs more than what is done with it.
_rooms = threading.local()


def _room(name: str, size: int) -> np.ndarray:
    """(size,) uint8 of a thread's own for a purpose, with anything in it."""
    room = getattr(_rooms, name, None)
    if room is None or room.size < size:
        room = np.empty(size, np.uint8)
        setattr(_rooms, name, room)
    return np.asarray(room[:size])


def _pack(values: Values, block: tuple[slice, ...], chunk: tuple[int, ...], compression: Compression) -> bytes:
    """A block of values as it lies in the file, filled up with zeros to a whole chunk."""
    size, itemsize, shape = prod(chunk), values.dtype.itemsize, tuple(cut.stop - cut.start for cut in block)
    content = _room("chunk", size * itemsize)
    whole = content.view(values.dtype).reshape(chunk)
    if shape != chunk:
        whole[...] = 0
    brick = whole[tuple(map(slice, shape))]
    if isinstance(values, ArrivingArray):
        values.read(block, brick)
    else:
        brick[...] = values[block]
    if compression == "none":
        plain = whole.tobytes()
        return plain + fletcher32(plain).to_bytes(4, "little")
    shuffled = _room("shuffled", size * itemsize)
    shuffled.reshape(itemsize, size)[...] = content.reshape(size, itemsize).T
    return _deflate(shuffled, compression)


def _deflate(content: np.ndarray, compression: Compression) -> bytes:
    if compression == "small":
        return zlib.compress(content.data, _SMALL)
    if isal_zlib is None:
        return zlib.compress(content.data, _FAST_OF_ZLIB)
    return bytes(isal_zlib.compress(content, _FAST_OF_ISAL))


def _unpack(packed: bytes, dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
    """The values of a compressed chunk, whose checksum is verified. Raises ValueError."""
    size = dtype.itemsize * prod(shape)
    deflate = zlib if isal_zlib is None else isal_zlib
    stream = deflate.decompressobj()
    try:
        content = stream.decompress(packed, size + 1)  # no more, whatever a damaged or hostile file says
    except deflate.error as error:
        raise ValueError(f"a chunk cannot be unpacked: {error}") from None
    if len(content) != size or not stream.eof:
        raise ValueError("a chunk has another size than its dataset says")
    rows = np.empty((size // dtype.itemsize, dtype.itemsize), np.uint8)
    for number, part in enumerate(np.frombuffer(content, np.uint8).reshape(dtype.itemsize, -1)):
        rows[:, number] = part  # in a third of the time of a transposition
    return rows.view(dtype).reshape(shape)


def fletcher32(content: bytes) -> int:
    """Fletcher's checksum as HDF5 has it: sums of 16-bit words, high byte first, in ones' complement. Of an odd number
    of bytes the last is the high byte of a word."""
    whole, count = len(content) // 2, -(-len(content) // 2)
    rows = max(1, -(-count // _WORDS))
    words = _room("words", 4 * rows * _WORDS).view(np.uint32)
    first = words.size - count
    words[:first] = 0  # in front zeros change no sum
    words[first : first + whole] = np.frombuffer(content, ">u2", whole)
    if whole < count:
        words[-1] = content[-1] << 8
    table, sums = words.reshape(rows, _WORDS), np.uint32 if rows < 2**16 else np.uint64  # of 2^16 - 1 each
    of_rows = table.sum(axis=1, dtype=sums).astype(np.uint64)
    of_columns = table.sum(axis=0, dtype=sums).astype(np.uint64)
    # The weight of a word is how many there are from it to the end: those of later rows, and those of its own.
    later = np.arange(rows - 1, -1, -1, dtype=np.uint64) * np.uint64(_WORDS)
    own = np.arange(_WORDS, 0, -1, dtype=np.uint64)
    weighted = int(of_rows @ later) + int(of_columns @ own)
    return _folded(weighted) << 16 | _folded(int(of_rows.sum()))


def _folded(value: int) -> int:
    """A sum in ones' complement of 16 bits, in which 0 is only the sum of nothing."""
    return (value - 1) % 65535 + 1 if value else 0
