"""`heatsim zth`."""

from __future__ import annotations

import json as jsonlib
from pathlib import Path

import click

from heatsim.cli.options import (
    TIME,
    Measure,
    as_json_option,
    load_file,
    name_of,
    overrides_option,
    scenario_file,
    trust_option,
)


@click.command()
@scenario_file
@click.option("--from", "first", type=Measure(TIME), help="First time of the impedance [time.end / 1e6].")
@click.option("--per-decade", type=click.IntRange(2, 100), default=10, show_default=True, help="Times in a decade.")
@click.option("--output", type=click.Path(path_type=Path), help="Folder for the results [outputs/<scenario>-zth].")
@overrides_option
@trust_option
@as_json_option
def zth(
    file: Path, first: float | None, per_decade: int, output: Path | None, overrides: tuple[str, ...], trust: bool,
    as_json: bool,
) -> None:  # fmt: skip
    """Find the thermal impedance of a scenario FILE, and RC networks that have it.

    Each source in turn releases 1 W from t = 0 on, up to time.end. The rise of each probe, and of the mean of each of
    output.regions, goes to zth.csv and zth.png. Foster and Cauer networks go to networks.json, ladders to SPICE
    netlists.
    """
    from heatsim.studies.impedance import files, networks, responses

    scenario = load_file(file, overrides, trust=trust)
    networks.require_fit()
    impedance = responses.find_impedance(
        scenario, first, per_decade, (lambda name: None) if as_json else lambda name: click.echo(name, err=True)
    )
    fitted = {
        (place, source): networks.fit_foster(impedance.times, impedance.values[place, source])
        for place in range(len(impedance.places))
        for source in range(len(impedance.sources))
    }
    folder = output or Path("outputs") / f"{name_of(file)}-zth"
    written = files.write_impedance(folder, impedance, fitted, scenario.title or name_of(file))
    if as_json:
        click.echo(jsonlib.dumps({"folder": str(folder), "impedances": files.in_json(impedance, fitted)}, indent=2))
        return
    for pair, network in fitted.items():
        last, count = impedance.values[pair][-1], len(network.resistances)
        form = "Foster and Cauer" if network.ladder else "Foster"
        click.echo(
            f"{files.pair_name(impedance, pair)}: {last:.5g} K/W at {impedance.times[-1]:g} s; "
            f"{form}, {count} elements, error {100 * network.error:.2g} %"
        )
    click.echo(f"{len(written)} files in {folder}")
