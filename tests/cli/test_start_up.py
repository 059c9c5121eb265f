"""Help and completion must not wait for libraries that they do not need."""

from __future__ import annotations

import subprocess
import sys

from helpers.in_turn import in_turn

HEAVY = ("numpy", "numba", "h5py", "matplotlib", "pydantic", "rich", "PIL", "xarray", "scipy")


@in_turn("code", ["import heatsim", "import heatsim.cli.main", "from heatsim.cli.main import main; HELP"])
def test_the_command_line_imports_nothing_heavy(code: str) -> None:
    shown = "main(['run', '--help'], standalone_mode=False)"
    script = f"import sys; {code.replace('HELP', shown)}; print('loaded', *(n for n in {HEAVY} if n in sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "loaded"
