"""Shape a heat sink: where to put a tenth of copper in a heated plate, so that it leads the heat to a cold spot best.

    python docs/examples/shape_heat_sink.py [folder] [steps]

The density method: each cell has a density between 0 (filler) and 1 (copper), and a conductivity that rises with its
cube, so that half-filled cells pay badly. `heatsim.gradient` says what more conductivity in each cell would bring, and
the optimality criterion moves the copper there. Source: M. P. Bendsoe and O. Sigmund, Topology Optimization, 2003.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import heatsim

CELLS, LEVELS, COPPER = 64, 200, 0.1  # cells a side, steps of the density, share of the plate
FILLER_K, COPPER_K, POWER = 1.0, 400.0, 0.3  # W/(m K), W
LARGEST_MOVE = 0.1  # of a density in a step


def conductivity(density: np.ndarray) -> np.ndarray:
    """W/(m K)."""
    return np.asarray(FILLER_K + (COPPER_K - FILLER_K) * density**3)


def smoothed(values: np.ndarray) -> np.ndarray:
    """The mean of each cell and its neighbours, so that no shape depends on single cells. It is its own transpose."""
    wide = np.pad(values, 1)
    kernel = np.outer([1.0, 2.0, 1.0], [1.0, 2.0, 1.0]) / 16.0
    parts = [kernel[i, j] * wide[i : i + CELLS, j : j + CELLS] for i in range(3) for j in range(3)]
    return np.sum(parts, axis=0)


def write_scenario(folder: Path, density: np.ndarray) -> Path:
    """A plate of one cell across whose materials are the levels of a density."""
    np.save(folder / "levels.npy", np.rint(density * LEVELS).astype(np.uint8)[None])
    levels = np.unique(np.rint(density * LEVELS).astype(int))
    materials = "\n".join(
        f"materials.level_{level} = {{ conductivity = {float(conductivity(level / LEVELS))!r}, density = 1.0, "
        "heat_capacity = 1.0 }"
        for level in levels
    )
    names = ", ".join(f'{level} = "level_{level}"' for level in levels)
    path = folder / "plate.toml"
    path.write_text(f"""
grid = {{ cells = [{CELLS}, {CELLS}, 1], size = [0.1, 0.1, 0.001] }}
time = {{ integrator = "steady" }}
initial = {{ temperature = 300.0 }}
regions = [{{ labels = {{ file = "levels.npy", map = {{ {names} }} }} }}]
sources = [{{ power = {POWER}, region = {{ where = "z > 0" }} }}]
{materials}
[boundary.x_min]
kind = "insulated"
patches = [{{ where = "abs(y - 0.05) < 0.005", kind = "fixed", temperature = 300.0 }}]
[output]
results = [{{ name = "mean", of = "mean(T)" }}]
""")
    return path


def improved(density: np.ndarray, gain: np.ndarray) -> np.ndarray:
    """The optimality criterion: as much copper as before, where a share more of it gains most."""
    low, high = 1e-12, 1e12
    while high / low > 1.0001:
        price = np.sqrt(low * high)
        wanted = density * np.sqrt(np.maximum(gain, 0.0) / price)
        found = np.clip(wanted, np.maximum(density - LARGEST_MOVE, 0.01), np.minimum(density + LARGEST_MOVE, 1.0))
        low, high = (price, high) if smoothed(found).mean() > COPPER else (low, price)
    return np.asarray(found)


def shape(folder: Path, steps: int = 40) -> list[float]:
    """Shape the sink in a folder; the mean rise of the plate before each step, K."""
    density, rises = np.full((CELLS, CELLS), COPPER), []
    for step in range(steps):
        filled = smoothed(density)
        found = heatsim.gradient(write_scenario(folder, filled), "mean")
        rises.append(found.value - 300.0)
        by_filled = found.by_conductivity[0] * 3.0 * (COPPER_K - FILLER_K) * filled**2 / conductivity(filled)
        density = improved(density, -smoothed(by_filled))
        print(f"step {step:2d}: the plate is {rises[-1]:.3f} K above the cold spot", flush=True)
    np.save(folder / "density.npy", smoothed(density))
    return rises


if __name__ == "__main__":
    chosen = Path(sys.argv[1] if len(sys.argv) > 1 else "outputs/heat_sink_shape")
    chosen.mkdir(parents=True, exist_ok=True)
    shape(chosen, int(sys.argv[2]) if len(sys.argv) > 2 else 40)
