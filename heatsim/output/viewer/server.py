"""The page over HTTP on this machine alone, for a run that goes on: the page asks for frames as they come."""

from __future__ import annotations

import json
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock
from typing import Any

from heatsim.errors import InputFileError, RunFolderError
from heatsim.output.viewer.frames import Frame, FrameSource, encode_frame
from heatsim.output.viewer.page import compose, describe
from heatsim.store.field_reader import FieldReader
from heatsim.store.folder import RunFolder

HOST = "127.0.0.1"


class LiveRun:
    """What the page is given of a run: frames are packed once, and then kept."""

    def __init__(
        self,
        path: Path,
        make_reader: Callable[[RunFolder], FieldReader],
        field: str,
        coarsening: int | None = None,
        every: int | None = None,
    ) -> None:
        self._folder, self._make_reader, self._field = RunFolder.open(path), make_reader, field
        self._lock, self._frames, self._damaged = Lock(), list[Frame](), set[Path]()
        self._source = FrameSource(make_reader(self._folder), field, coarsening, every)

    def page(self) -> bytes:
        """The HTML, without frames."""
        return compose(self.about(), self._source).encode()

    def about(self) -> dict[str, Any]:
        """What is known of the run now, after a look for new snapshots."""
        with self._lock:
            live = self._folder.read_info().get("state") == "running"
            every = self._source.every
            self._source = FrameSource(self._make_reader(self._folder), self._field, self._source.coarsening, every)
            known = {frame.step for frame in self._frames}
            for header in self._source.headers:
                if header.step not in known and header.path not in self._damaged:
                    try:
                        self._frames.append(encode_frame(self._source, header))
                    except InputFileError:
                        self._damaged.add(header.path)
            return describe(self._source, self._frames) | {"live": live}

    def frame(self, number: int) -> bytes:
        """The data of a frame. Raises IndexError."""
        return self._frames[number].encoded.data


def make_server(run: LiveRun, port: int) -> ThreadingHTTPServer:
    """A server on a port, 0 for any that is free; its `server_address` tells which. Raises OSError."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            """Answer for the page, what is known of the run, a frame or the materials."""
            if self.headers.get("Host") not in (f"{HOST}:{server.server_port}", f"localhost:{server.server_port}"):
                # A page elsewhere that has a name of its own for this address.
                self.send_error(403)
                return
            try:
                kind, data = _answer(run, self.path)
            except (KeyError, IndexError, ValueError):
                self.send_error(404)
                return
            except RunFolderError as error:
                self.send_error(503, str(error))
                return
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            self.send_header("Cache-Control", "no-store")
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *args: object) -> None:
            """Nothing: requests are of no interest."""

    server = ThreadingHTTPServer((HOST, port), Handler)
    return server


def _answer(run: LiveRun, path: str) -> tuple[str, bytes]:
    if path == "/":
        return "text/html; charset=utf-8", run.page()
    if path == "/about":
        return "application/json", json.dumps(run.about()).encode()
    name, _, number = path.removeprefix("/").partition("-")
    if name != "frame":
        raise KeyError(path)
    return "application/octet-stream", run.frame(int(number))
