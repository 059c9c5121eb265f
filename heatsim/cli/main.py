"""The command line. Results go to stdout, progress and messages to stderr.

Exit codes: 0 done; 1 failed; 2 usage or invalid scenario; 3 not finite; 4 GPU demanded and missing; 5 verification out
of tolerance; 75 after --max-time; 128 and its number after a signal (130 SIGINT, 143 SIGTERM, 138 SIGUSR1, 129 SIGHUP),
with a checkpoint.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

import click

from heatsim.base.version import __version__
from heatsim.cli.bench import bench
from heatsim.cli.effective import effective
from heatsim.cli.importing import import_
from heatsim.cli.machine import doctor, warm
from heatsim.cli.options import print_as_json, report_error
from heatsim.cli.plot import movie, plot
from heatsim.cli.run import resume, run
from heatsim.cli.run_folders import hotspots, info, pack, view
from heatsim.cli.scenario_files import init, preview, schema, validate
from heatsim.cli.sweep import sweep
from heatsim.cli.verify import converge, verify
from heatsim.cli.zth import zth
from heatsim.errors import HeatsimError, Issue

BROKEN_PIPE = 141  # exit code, 128 + SIGPIPE


class _Commands(click.Group):
    """Commands that tell errors in one message, without a traceback."""

    def main(self, *arguments: Any, **options: Any) -> Any:
        _open_standard_streams()
        return super().main(*arguments, **options)

    def invoke(self, context: click.Context) -> Any:
        words = (*getattr(context, "_protected_args", context.__dict__.get("protected_args", ())), *context.args)
        as_json = "--json" in words and words[:1] != ("bench",)  # whose --json names a file
        try:
            return super().invoke(context)
        except HeatsimError as error:
            sys.exit(report_error(error, as_json))
        except click.ClickException as error:
            if not as_json:
                raise
            error.show()
            print_as_json(type(error).__name__, error.format_message(), error.exit_code, [_usage_issue(error)])
            sys.exit(error.exit_code)
        except KeyboardInterrupt:
            if as_json:
                print_as_json("KeyboardInterrupt", "interrupted", 128 + signal.SIGINT)
            sys.exit(128 + signal.SIGINT)
        except MemoryError as error:
            told = f"not enough memory{f' ({error})' if str(error) else ''}; a smaller grid or float32 takes less"
            sys.exit(report_error(HeatsimError(told), as_json))
        except EOFError as error:  # which click takes for Ctrl-D, and says no more than "Aborted!"
            told = (
                f"a file ends too early ({error}); a full disk cuts off Python's compiled files: remove the folders "
                f"__pycache__ of heatsim and its packages, such as {Path(__file__).parent / '__pycache__'}"
            )
            sys.exit(report_error(HeatsimError(told), as_json))
        except BrokenPipeError:  # who read the output has enough; what the command did is done
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # else Python would fail once more when it ends
            sys.exit(BROKEN_PIPE)
        except OSError as error:
            sys.exit(
                report_error(HeatsimError(f"{error.filename or 'the system'}: {error.strerror or error}"), as_json)
            )


def _usage_issue(error: click.ClickException) -> Issue:
    """What is wrong with the words of a command: the key is its option or argument."""
    context, parameter = getattr(error, "ctx", None), getattr(error, "param", None)
    key = max(parameter.opts, key=len) if isinstance(parameter, click.Parameter) else ""
    key = key or str(getattr(error, "option_name", ""))
    return Issue(error.format_message(), key, hint=f"{context.command_path} --help" if context else "heatsim --help")


def _open_standard_streams() -> None:
    """Lead closed standard streams to nowhere. Python has none then, and the number of a closed one would go to the
    next file that is opened, into which a library would write its messages."""
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(number)
    sys.stdout = sys.stdout or open(1, "w", closefd=False)  # noqa: SIM115  # open to the end
    sys.stderr = sys.stderr or open(2, "w", closefd=False)  # noqa: SIM115


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="heatsim")
def main() -> None:
    """Heat conduction in a box: a scenario file in, temperatures, pictures and ParaView-ready snapshots out."""


_ABOUT_SCENARIOS = (run, resume, sweep, zth, validate, schema, init, import_, preview, warm)
_ABOUT_RUNS = (info, plot, movie, view, pack, hotspots)
for _command in (*_ABOUT_SCENARIOS, *_ABOUT_RUNS, effective, doctor, verify, converge, bench):
    main.add_command(_command)
