"""A headless Chromium, driven through the pipe of its DevTools protocol; no package is needed for that."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import time
from base64 import b64decode
from pathlib import Path
from select import select
from typing import Any

import pytest

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
needs_chromium = pytest.mark.skipif(BROWSER is None, reason="Chromium is not installed")
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--remote-debugging-pipe",
    "--disable-dev-shm-usage",
    "--use-angle=swiftshader",  # WebGL in software
    "--enable-unsafe-swiftshader",
    "--window-size=1200,900",
    "--no-first-run",
    "--disable-background-networking",
)
PATIENCE = 60.0  # s, for an answer
OF_THE_DRIVER = "GL Driver Message (OpenGL, Performance"  # what it says of the pixels that tests read, when it is slow


class Browser:
    """A browser with one page; `messages`: what the page wrote to its console, and exceptions that nobody caught."""

    def __init__(self) -> None:
        assert BROWSER is not None
        self.messages: list[str] = []
        self._folder = tempfile.TemporaryDirectory(prefix="chromium-", ignore_cleanup_errors=True)
        to_read, self._write = os.pipe()
        self._read, to_write = os.pipe()
        self._process = self._launch(to_read, to_write)
        os.close(to_read)
        os.close(to_write)
        self._number, self._rest, self._session = 0, b"", ""
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    def _launch(self, to_read: int, to_write: int) -> subprocess.Popen[bytes]:
        """Chromium reads commands from file 3 and writes answers to file 4."""
        command = [str(BROWSER), *FLAGS, f"--user-data-dir={self._folder.name}"]
        shell = f'exec 3<&{to_read} 4>&{to_write}; exec "$@"'
        return subprocess.Popen(
            ["bash", "-c", shell, "bash", *command],
            pass_fds=(to_read, to_write),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *raised: object) -> None:
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
        os.close(self._read)
        os.close(self._write)
        self._folder.cleanup()

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """The answer to a command."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            found = self._next()
            if found.get("id") == self._number:
                assert "error" not in found, found["error"]
                return dict(found["result"])
            self._note(found)

    def open(self, url: str, *, offline: bool = True) -> None:
        """Open a page, with the network off; it may take its time to load."""
        conditions = {"offline": offline, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
        self.send("Network.emulateNetworkConditions", **conditions)
        self.send("Page.navigate", url=url)

    def evaluate(self, expression: str) -> Any:
        """The value of an expression of JavaScript, awaited if it is a promise."""
        found = self.send("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def wait_for(self, expression: str) -> None:
        """Wait until an expression is true."""
        end = time.monotonic() + PATIENCE
        while not self.evaluate(expression):
            assert time.monotonic() < end, f"{expression} is not true; {self.messages}"
            time.sleep(0.05)

    def screenshot(self, path: Path) -> None:
        """Save what the page shows."""
        path.write_bytes(b64decode(self.send("Page.captureScreenshot")["data"]))

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            ready, _, _ = select([self._read], [], [], PATIENCE)
            assert ready, "Chromium does not answer"
            more = os.read(self._read, 2**16)
            assert more, "Chromium has ended"
            self._rest += more
        message, _, self._rest = self._rest.partition(b"\0")
        return dict(json.loads(message))

    def _note(self, event: dict[str, Any]) -> None:
        about = event.get("params", {})
        if event.get("method") == "Runtime.consoleAPICalled":
            self.messages.append(" ".join(str(each.get("value", each)) for each in about["args"]))
        elif event.get("method") == "Runtime.exceptionThrown":
            self.messages.append(str(about["exceptionDetails"]))
        elif event.get("method") == "Log.entryAdded" and OF_THE_DRIVER not in about["entry"]["text"]:
            self.messages.append(about["entry"]["text"])
