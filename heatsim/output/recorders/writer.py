"""One background thread that writes results while the computation goes on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import SimpleQueue

from heatsim.output.recorders.timings import Part, Timings

MAX_TASKS = 2  # shares of tasks waiting or under way


class Writer:
    """Tasks done in order on one thread. The first error ends all further work and is raised where it is met next.

    timings: get the seconds that a run waits for the writer, as the part `waited_for`.
    """

    def __init__(self, timings: Timings | None = None) -> None:
        self._timings = timings or Timings()
        self.waited_for: Part = "waiting"
        self._tasks: SimpleQueue[tuple[Callable[[], object], int] | None] = SimpleQueue()
        self._room = threading.Semaphore(MAX_TASKS)
        self._error: BaseException | None = None
        self._all_done, self._open_tasks = threading.Condition(), 0
        self._thread = threading.Thread(target=self._work, name="heatsim-writer", daemon=True)
        self._thread.start()

    @contextmanager
    def room(self, share: int = 1) -> Iterator[Callable[[Callable[[], object]], None]]:
        """Wait until there is room for a task, MAX_TASKS shares at most; gives the function that hands it over.

        Enter it before copying what the task is to write. A task that holds no memory before its turn has a share of
        0. If no task is handed over, as after an error, the room is free again: recorders that end would wait for ever.
        """
        with self._timings.counted(self.waited_for):
            for _ in range(share):
                self._room.acquire()
        submitted = False

        def submit(task: Callable[[], object]) -> None:
            nonlocal submitted
            submitted = True
            with self._all_done:
                self._open_tasks += 1
            self._tasks.put((task, share))

        try:
            self._check()
            yield submit
        finally:
            if not submitted:
                self._free(share)

    def finish(self) -> None:
        """Wait until all that was submitted is written; raises the error of what failed."""
        with self._timings.counted(self.waited_for), self._all_done:
            self._all_done.wait_for(lambda: self._open_tasks == 0)
        self._check()

    def close(self) -> None:
        """Finish all tasks; raises the error of one that failed."""
        self._tasks.put(None)
        self._thread.join()
        self._check()

    def _free(self, share: int) -> None:
        for _ in range(share):
            self._room.release()

    def _check(self) -> None:
        if self._error is not None:
            error, self._error = self._error, None
            raise error

    def _work(self) -> None:
        failed = False
        while (entry := self._tasks.get()) is not None:
            task, share = entry
            try:
                if not failed:
                    task()
            except BaseException as error:
                self._error, failed = error, True
            finally:
                del task, entry  # and with them the copy of the field
                self._free(share)
                with self._all_done:
                    self._open_tasks -= 1
                    self._all_done.notify_all()
