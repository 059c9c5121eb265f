"""What `heatsim zth` keeps: a table, the networks, a netlist for each ladder, and a picture."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from heatsim.base.atomic import write_atomically
from heatsim.output.pictures.charts import Chart, draw_charts
from heatsim.output.pictures.curve import Curve
from heatsim.store.tables import write_whole_table
from heatsim.studies.impedance.networks import FosterNetwork, netlist
from heatsim.studies.impedance.responses import ThermalImpedance

TABLE, NETWORKS, PICTURE = "zth.csv", "networks.json", "zth.png"
Pair = tuple[int, int]  # of a place and a source, by number
Networks = Mapping[Pair, FosterNetwork]


def pair_name(impedance: ThermalImpedance, pair: tuple[int, ...]) -> str:
    """The place, and the source that warms it."""
    return f"{impedance.places[pair[0]]} from {impedance.sources[pair[1]]}"


def write_impedance(folder: Path, impedance: ThermalImpedance, networks: Networks, title: str) -> list[Path]:
    """Write all files of an impedance into a folder, in place of those that are there; the files. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = {NETWORKS: json.dumps(in_json(impedance, networks), indent=1) + "\n"}
    for pair, network in networks.items():
        if network.ladder is not None:
            name = re.sub(r"\W+", "_", pair_name(impedance, pair))
            texts[f"{name}.cir"] = netlist(name, network.ladder)
    for name, text in texts.items():
        write_atomically(folder / name, text.encode())
    pairs = [*np.ndindex(impedance.values.shape[:2])]
    header = ["time [s]", *(f"{pair_name(impedance, pair)} [K/W]" for pair in pairs)]
    columns = [impedance.times.tolist(), *(impedance.values[pair].tolist() for pair in pairs)]
    write_whole_table(folder / TABLE, header, zip(*columns, strict=True))
    draw_impedance(folder / PICTURE, impedance, networks, title)
    return [folder / name for name in (TABLE, *texts, PICTURE)]


def in_json(impedance: ThermalImpedance, networks: Networks) -> list[dict[str, Any]]:
    """Each place and source with the last value of its impedance and its networks."""
    found = []
    for (place, source), network in networks.items():
        ladder = network.ladder
        of_ladder = {
            "resistances [K/W]": ladder.resistances.tolist(),
            "capacities [J/K]": ladder.capacities.tolist(),
        } if ladder else None  # fmt: skip
        found.append(
            {
                "place": impedance.places[place],
                "source": impedance.sources[source],
                "last [K/W]": float(impedance.values[place, source, -1]),
                "error": network.error,
                "foster": {
                    "resistances [K/W]": network.resistances.tolist(),
                    "time_constants [s]": network.time_constants.tolist(),
                },
                "cauer": of_ladder,
            }
        )
    return found


def draw_impedance(path: Path, impedance: ThermalImpedance, networks: Networks | None = None, title: str = "") -> None:
    """Draw what each place warms for a watt of each source, and the ladders of networks, into a PNG. Raises OSError."""
    curves, least = [], 1e-6 * abs(impedance.values).max()  # below which nothing is seen
    for pair in np.ndindex(impedance.values.shape[:2]):
        values = impedance.values[pair]
        if (values > least).any():
            curves.append(Curve(pair_name(impedance, pair), impedance.times[values > least], values[values > least]))
    charts = [Chart("time [s]", "thermal impedance [K/W]", curves, log_x=True, log_y=True)]
    ways = [
        Curve(pair_name(impedance, pair), np.cumsum(ladder.resistances), np.cumsum(ladder.capacities))
        for pair, network in (networks or {}).items()
        if (ladder := network.ladder) is not None
    ]
    words = "What each place warms for a watt of each source" + (", and the ladders of that" if ways else "")
    if ways:  # the cumulative structure function of JESD51-14
        charts.append(Chart("resistance from the source [K/W]", "heat capacity on the way [J/K]", ways, log_y=True))
    draw_charts(path, charts, title or "Thermal impedance", words)
