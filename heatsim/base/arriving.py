"""Arrays that come from a device part by part, and are read on the way."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

Block = tuple[slice, ...]


class ArrivingArray:
    """An array of which a block is read as soon as its planes along the first axis are there.

    fetch: brings the values into an array that it is given, and tells how many have come so far, in their order;
    returns the array that holds them, which is another one where they have to be looked up. convert: puts what the
    values of a block are read as into an array; called by the thread that reads.
    """

    def __init__(
        self,
        room: np.ndarray,
        fetch: Callable[[np.ndarray, Callable[[int], None]], np.ndarray],
        convert: Callable[[np.ndarray, Block, np.ndarray], None],
    ) -> None:
        self.shape, self.dtype, self.ndim = room.shape, room.dtype, room.ndim
        self._values, self._fetch, self._convert = room, fetch, convert
        self._plane = max(1, room[:1].size)
        self._there, self._error = 0, list[BaseException]()
        self._changed = threading.Condition()

    @contextmanager
    def on_its_way(self) -> Iterator[ArrivingArray]:
        """Fetch beside what is done in the block; the array that was given is free again after it."""
        thread = threading.Thread(target=self._run, name="heatsim-fetch", daemon=True)
        thread.start()
        try:
            yield self
        finally:
            thread.join()

    def read(self, block: Block, out: np.ndarray) -> None:
        """Put the values of a block into an array of its shape, once they are there. Raises what fetching raised."""
        planes = min(block[0].stop, self.shape[0])
        with self._changed:
            self._changed.wait_for(lambda: self._error or self._there >= planes * self._plane)
            if self._error:
                raise self._error[0]
            values = self._values
        self._convert(values[block], block, out)

    def _run(self) -> None:
        try:
            values = self._fetch(self._values, self._arrived)
            with self._changed:
                self._values = values.reshape(self.shape)
            self._arrived(values.size)
        except BaseException as error:
            with self._changed:
                self._error.append(error)
                self._changed.notify_all()

    def _arrived(self, count: int) -> None:
        with self._changed:
            self._there = count
            self._changed.notify_all()
