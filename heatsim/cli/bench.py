"""`heatsim bench stencil`, `heatsim bench convolution` and `heatsim bench integrators`."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from heatsim.cli.options import ParamType, device_option

_precision = click.option(
    "--precision", type=click.Choice(["float32", "float64", "both"]), default="float32", show_default=True
)
_json = click.option("--json", type=click.Path(path_type=Path), metavar="FILE", help="Write all that was found.")


class _IntegratorName(ParamType):
    """The name of an integrator that the benchmark takes; the names are loaded when they are asked for."""

    name = "integrator"

    @staticmethod
    def _names() -> click.Choice[str]:
        from heatsim.studies.bench.integrators.benchmark import NAMES

        return click.Choice(NAMES)

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str | None:
        return f"[{'|'.join(self._names().choices)}]"  # without the context, which click gives from 8.2 on

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return self._names().convert(value, param, ctx)


@click.group()
def bench() -> None:
    """Verify kernels and integrators on this machine, and time them."""


@bench.command()
@device_option
@click.option("--size", multiple=True, metavar="N|NX,NY,NZ", help="Cells an axis [256; 512 on a GPU].")
@_precision
@click.option("--kernel", multiple=True, metavar="NAME", help="A kernel of the device [all].")
@click.option("--materials", multiple=True, type=int, metavar="N", help="Number of materials [1 and 3].")
@click.option(
    "--layers", default=0, metavar="N", help="Layers along z that several materials lie in [cubes of 64 cells]."
)
@click.option("--seconds", default=1.2, show_default=True, help="Time for one measurement; each has five rounds.")
@click.option("--tune", is_flag=True, help="Time all tiles first and keep the fastest for later runs (GPU).")
@_json
@click.option("--figure", type=click.Path(path_type=Path), metavar="FILE", help="Draw a roofline (PNG).")
def stencil(**asked: Any) -> None:
    """Verify the stencil kernels against the reference, then time them against the copy limit.

    --size, --kernel and --materials may be repeated. Exit code 1 if a kernel fails the verification; it is not timed
    then.
    """
    _run("stencil", asked)


@bench.command()
@device_option
@click.option("--size", multiple=True, metavar="N|NX,NY", help="Cells an axis [4096; 8192 on a GPU].")
@_precision
@click.option(
    "--problem",
    multiple=True,
    type=click.Choice(["planes", "lines", "separable", "banks", "relu", "pool"]),
    help="What to verify and time [all].",
)
@click.option("--kernel", multiple=True, metavar="NAME", help="A kernel of the device [all].")
@click.option("--mask", multiple=True, metavar="M|XxY", help="A 2-D mask, in cells [3, 5, 7 and 9].")
@click.option("--seconds", default=1.2, show_default=True, help="Time for one measurement; each has five rounds.")
@_json
def convolution(**asked: Any) -> None:
    """Verify the smoothing, filter bank and pooling kernels, then time them against the copy limit.

    --size, --problem, --kernel and --mask may be repeated. Exit code 1 if a kernel fails the verification; it is not
    timed then.
    """
    _run("convolution", asked)


@bench.command()
@device_option
@click.option("--size", type=int, metavar="N", help="Cells an axis, a multiple of 32 [64; 256 on a GPU].")
@_precision
@click.option(
    "--problem",
    multiple=True,
    type=click.Choice(["smooth", "stack", "warming"]),
    help="What to solve [all].",
)
@click.option(
    "--integrator",
    multiple=True,
    type=_IntegratorName(),
    help="What to solve it by [all].",
)
@click.option("--limit", default=60.0, show_default=True, help="Seconds for a run; what takes longer is cut short.")
@_json
@click.option("--figure", type=click.Path(path_type=Path), metavar="FILE", help="Draw times over errors (PNG).")
def integrators(**asked: Any) -> None:
    """Time each integrator to several accuracies, on problems whose solutions are known.

    They are a smooth one, a stiff one, and one with k(T).

    --problem and --integrator may be repeated. Exit code 1 if an error is more than three times the tolerance.
    """
    _run("integrators", asked)


def _run(name: str, asked: dict[str, Any]) -> None:
    from heatsim.studies.bench import harness

    suite = import_module(f"heatsim.studies.bench.{name}.benchmark").SUITE
    sys.exit(harness.run_benchmark(f"heatsim bench {name}", suite, asked, lambda line: click.echo(line, err=True)))
