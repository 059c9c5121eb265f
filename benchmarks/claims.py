"""Repeat the claims of README.md and of the reports, in short form: claimed beside measured.

    python benchmarks/claims.py                     # those of this machine, in under 6 minutes on two cores
    python benchmarks/claims.py --list              # all, with their machines and commands

claims.toml lists every number with its machine and command. A claim that does not repeat within 20 %, or cannot be
repeated here though it is of this machine, fails (exit code 1). Those without a short form, and those of other
machines, are counted. Run it on a quiet machine: two cores with nothing else to do.
"""

import argparse
import os
import re
import shlex
import subprocess
import sys
import time
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
CLAIMS = Path(__file__).with_name("claims.toml")
WITHIN = 0.2
PATIENCE = 600.0  # s, for one command, which may compile first
PEERS = "peers-venv"  # what a claim needs that compares heatsim with other programs


@dataclass(frozen=True)
class Claim:
    """Numbers that a document states: see the head of claims.toml."""

    document: str
    text: str
    values: list[float]
    machine: str
    command: str
    repeat: str = ""
    find: list[str] = field(default_factory=list)
    short: list[float] | None = None
    within: float = WITHIN
    needs: str = ""

    @property
    def expected(self) -> list[float]:
        """What `repeat` gives."""
        return self.values if self.short is None else self.short


def read_claims() -> tuple[dict[str, dict[str, Any]], list[Claim]]:
    """The machines, and the claims."""
    found = tomllib.loads(CLAIMS.read_text(encoding="utf-8"))
    return found["machines"], [Claim(**each) for each in found["claim"]]


def is_here(machine: dict[str, Any]) -> bool:
    """Whether this is such a machine, by the names of its processor and GPUs."""
    if "gpu" in machine:
        return gpus().count(machine["gpu"]) >= machine["gpus"]
    lines = Path("/proc/cpuinfo").read_text().splitlines() if "cpu" in machine else []
    named = any(line.startswith("model name") and machine["cpu"] in line for line in lines)
    return "cpu" not in machine or (named and len(os.sched_getaffinity(0)) >= machine["cores"])


def gpus() -> str:
    """The names of the GPUs, or nothing."""
    try:
        return subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=False).stdout
    except OSError:
        return ""


def run(command: str) -> tuple[str, str]:
    """The output of a command in the checkout, and why it failed, or ""."""
    words = shlex.split(command)
    beside = Path(sys.executable).parent / words[0]
    words[0] = sys.executable if words[0] == "python" else str(beside) if beside.exists() else words[0]
    threads = {"NUMBA_NUM_THREADS": "2"} if "--device cuda" not in command else {}
    environment = {**os.environ, **threads, "COLUMNS": "200"}
    try:
        done = subprocess.run(
            words, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False
        )
    except subprocess.TimeoutExpired:
        return "", f"took longer than {PATIENCE:g} s"
    except OSError as error:
        return "", str(error)
    last = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:]
    return done.stdout + done.stderr, "" if done.returncode == 0 else f"exit code {done.returncode}: {' '.join(last)}"


def measured(claim: Claim, output: str) -> list[float] | None:
    """The values in an output, None where one is not there."""
    values: list[float] = []
    for expression in claim.find:
        match = re.search(expression, output)
        if match is None:
            return None
        groups = [float(each) for each in match.groups()]
        values += [groups[0] / groups[1]] if len(groups) == 2 else groups
    return values


def verdict(claim: Claim, output: str, failure: str) -> tuple[str, bool]:
    """What is said of a claim that was repeated, and whether it holds."""
    found = None if failure else measured(claim, output)
    claimed = ", ".join(f"{value:g}" for value in claim.expected)
    if found is None or len(found) != len(claim.expected):
        refused = [line.strip() for line in output.splitlines() if "no ratio" in line]
        return f"{claimed:24} not measured: {' '.join(refused) or failure or 'the output has no such number'}", False
    holds = all(
        abs(mine - value) <= claim.within * abs(value) for mine, value in zip(found, claim.expected, strict=True)
    )
    shown = ", ".join(f"{value:.3g}" for value in found)
    return f"{claimed:24} {shown:24} {'repeats' if holds else 'DOES NOT REPEAT'}", holds


def main() -> int:
    """Repeat the claims; the exit code is 1 if one does not hold."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="print all claims, and repeat none")
    parser.add_argument("--only", default="", metavar="WORDS", help="of a document or a command: repeat only those")
    parser.add_argument("--peers-python", metavar="FILE", help="the Python of the other programs [of peers-venv here]")
    options = parser.parse_args()
    machines, claims = read_claims()
    if options.list:
        for each in claims:
            print(f"{each.document}: {each.text}\n    {each.values} on {each.machine}: {each.command}")
        return 0
    here = {name for name, machine in machines.items() if is_here(machine)}
    mine = [each for each in claims if each.machine in here and each.repeat]
    mine = [each for each in mine if options.only in f"{each.document} {each.repeat}"]
    begun, outputs, held = time.perf_counter(), dict[str, tuple[str, str]](), True
    print(f"this machine: {', '.join(sorted(here - {'any'})) or 'none that is named'}, load {os.getloadavg()[0]:.1f}")
    print(f"{'claimed':24} {'measured':24}")
    for claim in mine:
        print(f"\n{claim.document}: {claim.text}\n    {claim.repeat}", flush=True)
        peers = options.peers_python if claim.needs == PEERS else None
        if claim.needs and peers is None and not (ROOT / claim.needs).exists():
            outputs[claim.repeat] = "", f"needs {claim.needs}, see benchmarks/README.md"
        if claim.repeat not in outputs:
            outputs[claim.repeat] = run(claim.repeat + (f" --peers-python {shlex.quote(peers)}" if peers else ""))
        told, holds = verdict(claim, *outputs[claim.repeat])
        held = held and holds
        print(told, flush=True)
    long = sum(each.machine in here and not each.repeat for each in claims)
    elsewhere = sum(each.machine not in here for each in claims)
    print(f"\n{len(mine)} claims repeated in {time.perf_counter() - begun:.0f} s; {long} of this machine have no short")
    print(f"form, {elsewhere} are of other machines (--list)")
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
