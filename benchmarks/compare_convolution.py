"""`heatsim bench convolution`, with other programs in the race: SciPy, OpenCV, PyTorch and CuPy, where they are.

    python3 -m venv peers-venv && peers-venv/bin/pip install scipy opencv-python-headless torch
    python benchmarks/compare_convolution.py --peers-python peers-venv/bin/python

The options are those of `heatsim bench convolution`, and --peers-python. Each program has a process of its own
(peers/convolution.py) and as many threads as heatsim's kernels. It is verified before it is timed.
"""

from __future__ import annotations

import sys
from contextlib import ExitStack
from typing import Any

import click
import script

from heatsim.base.tables import Row, Tell
from heatsim.cli.main import main
from heatsim.studies.bench import machine
from heatsim.studies.bench.convolution import benchmark
from heatsim.studies.bench.convolution.problems import ConvolutionProblem
from heatsim.studies.bench.harness import Contender, Document, Skipped, run_benchmark

PEERS = {"cpu": ("SciPy", "OpenCV", "PyTorch"), "cuda": ("CuPy", "PyTorch")}


def measure(asked: dict[str, Any], tell: Tell) -> Document:
    """Start the peers that there are, and have them take part."""
    peers, missing, threads = dict[str, script.Peer](), list[str](), machine.cpu_threads()
    with ExitStack() as stack:
        for name in PEERS[asked["device"]]:
            starting = script.start_peer(
                asked["peers_python"], "peers.convolution", name, asked["device"], threads, threads=threads
            )
            peer = stack.enter_context(starting)
            try:
                peers[f"{name} {peer.ask('version')}"] = peer
            except (Skipped, script.PeerError) as error:
                missing.append(f"{name} was not measured: {error}")

        def contenders(problem: ConvolutionProblem, about: Row) -> list[Contender]:
            return [peer.contender(name, about, problem._asdict()) for name, peer in peers.items()]

        found = benchmark.measure(asked, tell, contenders)
    return found | {"notes": found["notes"] + missing}


def compare(**asked: Any) -> None:
    """Run the benchmark."""
    suite = benchmark.SUITE._replace(measure=measure)
    sys.exit(run_benchmark("compare_convolution.py", suite, asked, lambda line: click.echo(line, err=True)))


def command() -> click.Command:
    """The command of the benchmark, with one more option."""
    bench: Any = main.commands["bench"]
    given = bench.commands["convolution"]
    help_text = "The Python that has the other programs [peers-venv/bin/python, or this one]."
    python = click.Option(
        ["--peers-python"], type=click.Path(exists=True), default=script.peers_python(), help=help_text
    )
    return click.Command("compare_convolution.py", callback=compare, params=[*given.params, python], help=__doc__)


if __name__ == "__main__":
    command()()
