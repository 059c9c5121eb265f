"""The command line. Results go to stdout, progress and messages to stderr.

Exit codes: 0 done; 1 failed; 2 usage or invalid scenario; 3 not finite; 4 GPU demanded and missing; 5 verification out
of tolerance; 130, 143 after a signal, with everything kept that was reached.
"""

from __future__ import annotations

import signal
import sys
from typing import Any

import click

from heatsim import __version__
from heatsim.commands.bench import bench
from heatsim.commands.converge import converge
from heatsim.commands.doctor import doctor
from heatsim.commands.hotspots import hotspots
from heatsim.commands.info import info
from heatsim.commands.init import init
from heatsim.commands.plot import plot
from heatsim.commands.run import run
from heatsim.commands.schema import schema
from heatsim.commands.shared import tell
from heatsim.commands.validate import validate
from heatsim.commands.verify import verify
from heatsim.errors import HeatsimError


class _Commands(click.Group):
    """Commands that tell errors in one message, without a traceback."""

    def invoke(self, context: click.Context) -> Any:
        try:
            return super().invoke(context)
        except HeatsimError as error:
            tell(str(error))
            sys.exit(error.exit_code)
        except KeyboardInterrupt:
            sys.exit(128 + signal.SIGINT)
        except MemoryError:
            tell("not enough memory; make the grid smaller or use precision float32")
            sys.exit(1)
        except OSError as error:
            tell(f"{error.filename or 'the system'}: {error.strerror or error}")
            sys.exit(1)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="heatsim")
def main() -> None:
    """Heat conduction in a box: a scenario file in, temperatures, pictures and ParaView-ready snapshots out."""


for _command in (run, validate, schema, init, info, plot, hotspots, doctor, verify, converge, bench):
    main.add_command(_command)
