"""The process of a peer: `python -m peers.serve MODULE NAME ARGUMENTS` makes `MODULE.make_peer(NAME, *ARGUMENTS)`.

It calls the peer's methods, one for each line `[method, arguments]` on stdin, and answers `[value, null, false]` or
`[null, error, whether it was an ImportError]` on stdout. Nothing but Python is needed for that.

A peer has `verify(*problem)`, which holds the problem ready, compiled, and returns what is wrong or "", or what its row
says, with "failed" perhaps; `run(repetitions)`, which returns seconds; and `found()`, what its row says in the end.
"""

from __future__ import annotations

import json
import os
import sys
from importlib import import_module
from typing import Any


def serve(module: str, name: str, *arguments: str) -> None:
    """Answer requests until stdin ends."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what a library prints is no answer
    peer: Any = None
    for line in sys.stdin:
        method, given = json.loads(line)
        try:
            peer = peer or import_module(module).make_peer(name, *arguments)
            answer = [getattr(peer, method)(*given), None, False]
        except Exception as error:  # whatever a library raises is its answer
            answer = [None, (str(error) or type(error).__name__).splitlines()[0], isinstance(error, ImportError)]
        print(json.dumps(answer), file=answers)


if __name__ == "__main__":
    serve(*sys.argv[1:])
