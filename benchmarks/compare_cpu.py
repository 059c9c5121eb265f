"""Time explicit 7-point heat conduction sweeps in heatsim and its peers side by side: see README.md.

Each peer runs in a process of its own (peers/worker.py). No ratio is printed of rounds that are shorter than a
second or spread by more than a third.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from heatsim.bench.rounds import doubt

HERE = Path(__file__).parent
DTYPES = ["float32", "float64"]
PEERS = {
    "heatsim": "heatsim_",
    "c_openmp": "c_openmp",
    "devito": "devito_",
    "pystencils": "pystencils_",
    "jax": "jax_",
    "torch": "torch_",
    "numpy": "numpy_",
    "pypde": "pypde_",
}
SINGLE_SWEEPS = ("c_openmp", "devito", "pystencils")
TARGET = {"constant": 2.0, "conductivity": 3.0}  # heatsim over the fastest of these, or of all
PROBLEMS = {
    "constant": "7-point heat conduction",
    "conductivity": "7-point heat conduction with a conductivity that depends on temperature",
}
PEERS_PYTHON = Path("peers-venv/bin/python")
SECONDS_A_ROUND = 2.0
WARM_UP_STEPS = 8
COLUMNS = "{:<15}{:<10}{:<9}{:>10}{:>8}{:>8}{:>14}"


class StencilPeerError(Exception):
    """A peer could not do what it was asked; the message says why."""


@dataclass
class StencilPeerRow:
    """What is known of one peer; seconds: of the `steps` of each round; rates: of these, in G cell updates/s."""

    key: str
    name: str
    version: str | None = None
    boundary: str = ""
    settings: str = ""
    skipped: str | None = None
    failed: str | None = None
    steps: int = 0
    seconds: list[float] = field(default_factory=list)
    rates: list[float] = field(default_factory=list)

    @property
    def rate(self) -> float | None:
        """Median rate in G cell updates/s; None if it was not timed."""
        return median(self.rates) if self.rates else None


class StencilPeer:
    """A peer's process; `log` receives all that it prints."""

    def __init__(self, key: str, python: str, cores: list[int], environment: dict[str, str], log: Path):
        self.row = StencilPeerRow(key, key)
        self.log = log
        with log.open("w") as stderr:
            self.process = subprocess.Popen(
                [python, "-m", "peers.worker", PEERS[key], ",".join(map(str, cores))],
                cwd=HERE,
                env=environment,
                text=True,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
            )

    def ask(self, method: str, *arguments: Any) -> Any:
        """Call a method of the worker. Raises PeerError when it fails or dies."""
        with suppress(BrokenPipeError):  # then the answer is empty too
            print(json.dumps([method, arguments]), file=self.process.stdin, flush=True)
        answer = self.process.stdout.readline()
        if not answer:
            last = self.log.read_text(errors="replace").strip().splitlines()[-1:]
            raise StencilPeerError(f"process ended with {self.process.wait()}: {' '.join(last)}")
        value, error = json.loads(answer)
        if error:
            raise StencilPeerError(error)
        return value

    def close(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.communicate()


def main() -> int:
    """Run the comparison; exit code 1 if a peer failed, or a ratio was refused."""
    options = _options()
    cores = sorted(os.sched_getaffinity(0))[: options.threads]
    if len(cores) < options.threads:
        sys.exit(f"--threads {options.threads}: only {len(cores)} cores may be used")
    load = os.getloadavg()[0]
    reports, failed = [], False
    for dtype in options.dtype:
        with tempfile.TemporaryDirectory() as folder:
            rows = _compare(options, dtype, cores, Path(folder))
        reports.append(_report(options, dtype, cores, load, rows))
        failed = failed or any(row.failed for row in rows)
        failed = failed or any(row.rates and doubt(row.seconds) for row in rows)
        print(_table(reports[-1], rows), end="\n\n")
    if options.json:
        options.json.write_text(json.dumps(reports, indent=2) + "\n", encoding="utf-8")
    return 1 if failed else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--problem",
        choices=PROBLEMS,
        default="constant",
        help="constant properties (default), or a conductivity that depends on temperature",
    )
    parser.add_argument("--n", type=int, default=256, help="cells along each axis (default 256)")
    parser.add_argument("--dtype", nargs="+", choices=DTYPES, default=DTYPES, help="default: both, one after the other")
    parser.add_argument("--steps", type=int, help="sweeps a round (default: as many as take about 2 s)")
    parser.add_argument("--threads", type=int, default=2, help="threads, on as many cores (default 2)")
    parser.add_argument("--peers", nargs="+", choices=PEERS, default=list(PEERS), help="default: all")
    parser.add_argument("--rounds", type=int, default=7, help="timed rounds (default 7)")
    parser.add_argument(
        "--peers-python",
        type=os.path.abspath,  # peers start in the folder of this script
        default=str(PEERS_PYTHON) if PEERS_PYTHON.exists() else sys.executable,
        help=f"interpreter of all but heatsim (default: {PEERS_PYTHON} if it is there, or this one)",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers here as well")
    return parser.parse_args()


def _compare(options: argparse.Namespace, dtype: str, cores: list[int], folder: Path) -> list[StencilPeerRow]:
    environment = _environment(options.threads, folder) | {"PEERS_PROBLEM": options.problem}
    peers = []
    try:
        for key in options.peers:
            python = sys.executable if key == "heatsim" else options.peers_python
            peers.append(StencilPeer(key, python, cores, environment, folder / f"{key}.log"))
            _attempt(peers[-1], partial(_make_ready, options=options, dtype=dtype))
        for number in range(options.rounds):
            for peer in peers:
                _attempt(peer, partial(_time, n=options.n))
            rates = (f"{peer.row.name} {peer.row.rates[-1]:.3f}" for peer in peers if peer.row.rates)
            _say(f"round {number + 1} of {options.rounds}, G cells/s: {', '.join(rates)}")
    finally:
        for peer in peers:
            peer.close()
    return [peer.row for peer in peers]


def _environment(threads: int, folder: Path) -> dict[str, str]:
    """Return the environment that every peer gets."""
    names = ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NPROC")  # NPROC: XLA's pool
    return {
        **os.environ,
        **dict.fromkeys(names, str(threads)),
        "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=true",
        "JAX_PLATFORMS": "cpu",
        # Huge pages for everybody: NumPy's arrays have them by itself, those of Devito and JAX would not.
        "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",
        "TMPDIR": str(folder),
    }


def _attempt(peer: StencilPeer, action: Callable[[StencilPeer], None]) -> None:
    """Do an action with a peer that is still in the race; record the failure if it raises PeerError."""
    if peer.row.skipped or peer.row.failed:
        return
    try:
        action(peer)
    except StencilPeerError as error:
        peer.row.failed, peer.row.rates, peer.row.seconds = str(error), [], []
        _say(f"{peer.row.name}: FAILED, not timed: {error}\n{peer.log.read_text(errors='replace')}")


def _make_ready(peer: StencilPeer, options: argparse.Namespace, dtype: str) -> None:
    """Describe, verify, prepare, warm up, and choose the steps of a round."""
    row = peer.row
    about = peer.ask("describe")
    row.skipped = about.pop("missing")
    for key, value in about.items():
        setattr(row, key, value)
    if row.skipped:
        _say(f"{row.name}: skipped, {row.skipped}")
        return
    if difference := peer.ask("verify", dtype):
        raise StencilPeerError(difference)
    peer.ask("prepare", options.n, dtype)
    peer.ask("advance", WARM_UP_STEPS)
    row.steps = options.steps or WARM_UP_STEPS
    for _ in range(0 if options.steps else 2):  # twice, since a short run is mostly its own start and end
        seconds = peer.ask("advance", row.steps) / row.steps
        row.steps = max(WARM_UP_STEPS, round(SECONDS_A_ROUND / seconds))
    _say(f"{row.name}: verified, {row.steps} steps a round")


def _time(peer: StencilPeer, n: int) -> None:
    peer.row.seconds.append(peer.ask("advance", peer.row.steps))
    peer.row.rates.append(peer.row.steps * n**3 / peer.row.seconds[-1] / 1e9)


def _report(
    options: argparse.Namespace, dtype: str, cores: list[int], load: float, rows: list[StencilPeerRow]
) -> dict[str, Any]:
    return {
        "machine": _processor(),
        "python": platform.python_version(),
        "cores": cores,
        "load_before": load,
        "problem": options.problem,
        "n": options.n,
        "dtype": dtype,
        "rounds": options.rounds,
        "peers": [{**asdict(row), "rate": row.rate} for row in rows],
    }


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def _table(report: dict[str, Any], rows: list[StencilPeerRow]) -> str:
    problem = f"{PROBLEMS[report['problem']]}, {report['n']}^3 {report['dtype']}"
    cores = f"one thread on each of the cores {report['cores']}"
    own = next((row for row in rows if row.key == "heatsim"), None)
    return "\n".join(
        [
            f"{problem}, median of {report['rounds']} interleaved rounds",
            f"{report['machine']}, {cores}, load before the start {report['load_before']:.2f}",
            COLUMNS.format("peer", "version", "boundary", "G cells/s", "min", "max", "heatsim/peer"),
            *(_line(row, own) for row in rows),
            *_verdict(rows, own, report["problem"]),
            "boundary: zero temperature, ghost = in the layer outside the cells, face = on the cells' faces",
            *(f"{row.name}: {row.settings}" for row in rows if row.rates),
        ]
    )


def _verdict(rows: list[StencilPeerRow], own: StencilPeerRow | None, problem: str) -> list[str]:
    """heatsim against the fastest single sweep, if both were timed; with k(T) against the fastest peer."""
    among = SINGLE_SWEEPS if problem == "constant" else [key for key in PEERS if key != "heatsim"]
    timed = [row for row in rows if row.key in among and row.rate]
    if own is None or own.rate is None or not timed:
        return []
    what = f"heatsim over the fastest of {', '.join(row.name for row in timed)}"
    refused = [f"{row.name}: {why}" for row in (own, *timed) if (why := doubt(row.seconds))]
    if refused:
        return [f"{what}: no ratio; {'; '.join(refused)}"]
    fastest = max(timed, key=lambda row: row.rate or 0.0)
    return [f"{what}: {own.rate / fastest.rate:.2f} ({fastest.name}), target {TARGET[problem]}"]


def _line(row: StencilPeerRow, own: StencilPeerRow | None) -> str:
    about = row.name, row.version or "-", row.boundary
    if row.rate is None:
        reason = f"skipped: {row.skipped}" if row.skipped else f"FAILED: {row.failed}"
        return COLUMNS.format(*about, reason, "", "", "").rstrip()
    rates = (f"{rate:.3f}" for rate in (row.rate, min(row.rates), max(row.rates)))
    refused = own is None or own.rate is None or doubt(row.seconds) or doubt(own.seconds)
    return COLUMNS.format(*about, *rates, "-" if refused else f"{own.rate / row.rate:.2f}")


def _say(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
