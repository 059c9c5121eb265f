"""Run random scenarios in one process and over all ranks, and compare: `mpiexec -n 3 python ... --count 30 --seed 1`.

Prints how many ran, and those whose results have a bit that differs. PYTHONPATH has to hold the folder of the tests.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import random
import tempfile
import warnings
from pathlib import Path

from mpi4py import MPI

from heatsim.solve.ranks.environment import ending_all, take_threads

take_threads(MPI.COMM_WORLD)

import tomllib  # noqa: E402

from faults.generated import Scenario, write_inputs, write_labels  # noqa: E402
from ranks.test_ranks import results  # noqa: E402

import heatsim  # noqa: E402
from heatsim.errors import HeatsimError  # noqa: E402
from heatsim.simulation.run import run_scenario  # noqa: E402
from heatsim.solve.ranks import join, leave  # noqa: E402
from heatsim.solve.ranks.parts import Ranks  # noqa: E402


def outcome(path: Path, out: Path, integrator: str) -> dict[str, bytes] | str:
    """The results of a run, or why there are none."""
    try:
        scenario = heatsim.load(path, [f"time.integrator={integrator}", "compute.device=auto", "compute.kernel=auto"])
        run = run_scenario(scenario, out, force=True)
    except HeatsimError as error:
        return str(error).replace(str(out), "")
    return {**results(out), "energy": repr(run.info["energy"]).encode(), "steps": str(run.info["steps"]).encode()}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    ranks = Ranks(MPI.COMM_WORLD)
    if not ranks.first:
        ranks.serve()
        return
    warnings.simplefilter("ignore")
    chance, ran, refused, different = random.Random(options.seed), 0, 0, 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_inputs(folder)
        while ran < options.count:
            text = Scenario(chance).make()
            cells = tomllib.loads(text)["grid"].get("cells", [0, 0, 0])
            if cells[2] < ranks.size or ("euler" not in text and "steady" in text):
                continue
            write_labels(folder, {"cells": cells})
            path, integrator = folder / "case.toml", chance.choice(["euler", "rkl2"])
            path.write_text(text)
            with contextlib.redirect_stderr(io.StringIO()):
                alone = outcome(path, folder / "alone", integrator)
                join(ranks)
                together = outcome(path, folder / "together", integrator)
                leave()
            if isinstance(alone, str) and alone == together:
                refused += 1
                continue
            ran += 1
            if alone != together:
                different += 1
                print(integrator, text, flush=True)
                if isinstance(alone, str) or isinstance(together, str):
                    print("alone:", str(alone)[:300], "\ntogether:", str(together)[:300], flush=True)
                else:
                    print([key for key in alone | together if alone.get(key) != together.get(key)], flush=True)
    print(f"{ran} scenarios, {refused} refused in both ways, {different} with bits that differ", flush=True)
    ranks.end()


if __name__ == "__main__":
    with ending_all(MPI.COMM_WORLD):
        main()
