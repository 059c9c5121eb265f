"""`heatsim run --untrusted`: a child process with limits, for scenarios and data files of strangers.

The limits are those of setrlimit(2). They bound what a file that is made to do harm can take of the machine; what it
can read and write is bounded by the checks on paths, which hold without them.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys

from heatsim.cli.signals import ENDING, SAVING
from heatsim.errors import HeatsimError, RequestError

CPU_SECONDS_A_CORE = 3600  # s, for each core
MEMORY_SHARE = 0.5  # of the machine's memory, for data
FILE_BYTES = 2**32  # of a single file
OPEN_FILES = 256
PASSED_ON = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "VIRTUAL_ENV", "CUDA_VISIBLE_DEVICES", "LD_LIBRARY_PATH")


class EndedBySignal(HeatsimError):
    """The child process was ended from outside, perhaps by one of its limits."""

    def __init__(self, number: int) -> None:
        super().__init__(
            f"the run was ended by {signal.Signals(number).name}. It may take {CPU_SECONDS_A_CORE} s of each core, "
            f"{100 * MEMORY_SHARE:.0f} % of the memory and {FILE_BYTES / 2**30:.0f} GiB a file"
        )
        self.exit_code = 128 + number


def run_in_limited_child() -> int:
    """Run this very command in a child process with limits, without `--untrusted`; returns its exit code."""
    arguments = [each for each in sys.argv[1:] if each != "--untrusted"]
    if "--trust" in arguments:
        raise RequestError("--trust and --untrusted exclude each other")
    try:
        import resource
    except ImportError:
        raise RequestError("--untrusted needs a system with limits on processes, such as Linux") from None
    memory = int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * MEMORY_SHARE)
    limits = {
        resource.RLIMIT_CPU: CPU_SECONDS_A_CORE * (os.cpu_count() or 1),
        resource.RLIMIT_DATA: memory,
        resource.RLIMIT_FSIZE: FILE_BYTES,
        resource.RLIMIT_NOFILE: OPEN_FILES,
        resource.RLIMIT_CORE: 0,
    }

    def limit() -> None:
        for number, most in limits.items():
            _, hard = resource.getrlimit(number)
            most = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.setrlimit(number, (most, most))

    environment = {name: value for name, value in os.environ.items() if name in PASSED_ON}
    environment |= {name: value for name, value in os.environ.items() if name.startswith(("NUMBA_", "HEATSIM_"))}
    command = [sys.executable, "-P", "-m", "heatsim", *arguments]
    with subprocess.Popen(command, env=environment, preexec_fn=limit) as child:
        code = _status(child)
    if child.returncode < 0:
        raise EndedBySignal(-child.returncode)
    return code


def _status(child: subprocess.Popen[bytes]) -> int:
    """The exit code of a child, to which signals are passed on; that of Ctrl-C it has from the terminal itself."""
    for number in (*ENDING, *SAVING):
        passed_on = signal.SIG_IGN if number == signal.SIGINT else lambda number, frame: child.send_signal(number)
        signal.signal(number, passed_on)
    code = child.wait()
    return 128 - code if code < 0 else code
