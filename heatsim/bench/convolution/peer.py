"""The process of one peer: `python -m heatsim.bench.convolution.peer DEVICE LIBRARY THREADS`.

It answers requests `[method, problem or number]` on stdin, a line of JSON each, with `[value, null]` or `[null, error]`
on stdout. NumPy and the library are all that it needs.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

from heatsim.bench.convolution.libraries import LIBRARIES, Call
from heatsim.bench.convolution.problems import Problem, data
from heatsim.bench.convolution.reference import corner_flaw

ROUNDINGS = 16.0  # FFT and Winograd's algorithm, which peers may choose, lose more than a sum does
SMALL = (37, 91)  # rows and columns of the fields that a peer is verified on, less than a corner


class Peer:
    """A library and the problem that it holds ready."""

    def __init__(self, device: str, name: str, threads: int) -> None:
        self.library = LIBRARIES[device][name](threads)
        self.call: Call | None = None

    def version(self, _: None) -> str:
        """The library's version."""
        return self.library.version

    def verify(self, fields: dict[str, Any]) -> str | None:
        """What is wrong with the solution of a small problem of this kind and of the problem itself, or ""; None where
        the library has no such thing. The problem stays ready."""
        problem = Problem.of(fields)
        problem = problem._replace(edge=self.library.edge or problem.edge)
        for each in (problem._replace(shape=(*problem.shape[:-2], *SMALL)), problem):
            field, weights = data(each)
            field -= field.dtype.type(0.5)
            self.call = self.library.solve(each, field, weights)
            if self.call is None:
                return None
            found = self.library.host(self.call())
            flaw = corner_flaw(each, field, weights, found, ROUNDINGS)
            if flaw:
                return f"{' x '.join(map(str, each.shape))}: {flaw}"
        return ""

    def run(self, repetitions: int) -> float:
        """Seconds that so many solutions take."""
        assert self.call is not None
        self.library.wait()
        begun = time.perf_counter()
        for _ in range(repetitions):
            self.call()
        self.library.wait()
        return time.perf_counter() - begun


def main(device: str, name: str, threads: str) -> None:
    """Answer requests until stdin ends."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what a library prints is no answer
    peer: Peer | None = None
    for line in sys.stdin:
        method, argument = json.loads(line)
        try:
            peer = peer or Peer(device, name, int(threads))
            answer = [getattr(peer, method)(argument), None]
        except Exception as error:  # whatever a library raises is its answer
            answer = [None, (str(error) or type(error).__name__).splitlines()[0]]
        print(json.dumps(answer), file=answers)


if __name__ == "__main__":
    main(*sys.argv[1:])
