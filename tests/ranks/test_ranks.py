"""One run over several processes: the bits of one, whatever is computed, and what goes wrong with processes."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from heatsim_kernels.explicit.coefficients import StencilCoefficients
from heatsim_kernels.explicit.slabs import Slab
from helpers.simulator import needs_numba_cuda

from heatsim.errors import InputFileError, RequestError, RunFolderError
from heatsim.solve.ranks.field import predicted_speedup
from heatsim.solve.ranks.gpus import CHOICE, HOST, NCCL, FoundGpu, Gpus, choose_transport
from heatsim.solve.ranks.links import MpiLinks
from heatsim.store.folder import RunFolder
from heatsim.store.inputs import read_array
from heatsim.store.snapshots import read_snapshot

TESTS = Path(__file__).parents[1]
COMPARE = TESTS / "ranks" / "compare_on_ranks.py"
MPIEXEC = shutil.which("mpiexec", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")
pytestmark = [
    pytest.mark.skipif(MPIEXEC is None, reason="there is no mpiexec"),
    pytest.mark.xdist_group("ranks"),  # one after another: each starts several processes
]

# Conduction that depends on temperature, melting, a face that radiates, a beam that crosses all cuts, and statistics.
MELTING = """
grid = { cells = [12, 9, 22], size = ["12 mm", "9 mm", "22 mm"] }
time = { end = 0.3, integrator = "euler" }
compute = { device = "cpu" }
initial = { temperature = "300 + 2000*z" }
regions = [{ material = "alloy" }, { material = "steel", where = "z > 0.013" }]
contacts = [{ between = ["alloy", "steel"], resistance = 1e-5 }]
[materials]
steel = { conductivity = "30 + 0.01*T", density = 7800.0, heat_capacity = 500.0 }
[materials.alloy]
conductivity = 90.0
density = 2700.0
heat_capacity = 900.0
latent = { heat = 3e5, solidus = 330.0, liquidus = 350.0 }
[boundary]
z_max = { kind = "radiation", emissivity = 0.9, ambient = 900.0 }
x_min = { kind = "convection", coefficient = "20 + 0.1*T", ambient = 290.0 }
[[sources]]
beam = { kind = "gaussian", power = 150.0, radius = 2e-3, depth = 2e-2, path = "path.csv" }
[output]
snapshots = { count = 3 }
fields = ["peak_temperature", "melted_fraction", "heat_flux"]
energy = { count = 6 }
probes = [{ name = "p", at = [0.006, 0.004, 0.011], every = 0.05 }]
regions = [{ name = "top", material = "steel", every = 0.1 }]
slices = [{ axis = "z", at = 0.011, count = 1 }, { axis = "x", at = 0.006, count = 1 }]
"""
# Linear, by stages: perfusion, an ambient inside, a periodic cut axis, inputs that depend on time.
PERFUSED = """
grid = { cells = [10, 8, 19], size = [0.10, 0.08, 0.19] }
time = { end = 600.0, integrator = "rkl2" }
compute = { device = "cpu", precision = "float64" }
initial = { temperature = "310 + 20*x" }
materials.tissue = { conductivity = 0.5, density = 1000.0, heat_capacity = 3600.0 }
materials.bone = { conductivity = 0.4, density = 1900.0, heat_capacity = 1300.0 }
regions = [
    { material = "tissue" },
    { material = "bone", where = "x > 0.07" },
    { material = "vessel", where = "x < 0.02 and y < 0.03" },
]
ambients.vessel = { temperature = 312.0, coefficient = 400.0 }
sources = [
    { perfusion = { coefficient = 2000.0, temperature = 310.0 }, material = "tissue" },
    { power = "5*(1 + sin(t/50))", region = { sphere = { center = [0.05, 0.04, 0.1], radius = 0.03 } } },
]
boundary.x_max = { kind = "convection", coefficient = 10.0, ambient = "295 + 5*sin(t/100)" }
boundary.z_min = { kind = "periodic" }
boundary.z_max = { kind = "periodic" }
[output]
snapshots = { count = 2 }
energy = { count = 4 }
probes = [{ name = "p", at = [0.05, 0.04, 0.1], count = 5 }]
"""
FAILED = -1  # any exit code but 0: that of a launcher which ended its processes
SILENT = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


def written(folder: Path, text: str) -> Path:
    """A scenario in a file, with the path of its beam."""
    (folder / "path.csv").write_text("time,x,y\n0,0.002,0.004\n0.3,0.01,0.005\n")
    file = folder / "scenario.toml"
    file.write_text(text)
    return file


def heatsim(ranks: int, *arguments: object, python: str = "-m heatsim") -> list[str]:
    """The command line of a heatsim over ranks."""
    launched = [] if ranks == 1 else [str(MPIEXEC), "-n", str(ranks)]
    return [*launched, sys.executable, *python.split(" ", 1), *map(str, arguments)]


def told(command: list[str], code: int = 0, **environment: str) -> str:
    """What a command says on both streams."""
    own = TESTS, TESTS / "kernels", TESTS / "multigrid", os.environ.get("PYTHONPATH", "")
    paths = os.pathsep.join(map(str, own))
    result = subprocess.run(
        command, capture_output=True, text=True, timeout=300, env={**os.environ, "PYTHONPATH": paths, **environment}
    )
    assert result.returncode == code or (code == FAILED and result.returncode), result.stdout + result.stderr
    return result.stdout + result.stderr


def results(folder: Path) -> dict[str, bytes]:
    """All arrays and tables of a run folder, by name."""
    found = {path.name: path.read_bytes() for path in folder.glob("*.csv")}
    for path in sorted(folder.rglob("*.h5")):
        with h5py.File(path) as file:

            def add(name: str, item: object, path: Path = path) -> None:
                if isinstance(item, h5py.Dataset):
                    found[f"{path.relative_to(folder)}:{name}"] = np.asarray(item[()]).tobytes()

            if not path.name.startswith("checkpoint"):
                file.visititems(add)
    return found


@pytest.mark.parametrize(
    ("ranks", "least", "options"),
    [(4, 150, ["--fewer-kernels"]), pytest.param(8, 300, [], marks=pytest.mark.long)],  # processes share two cores
)
def test_steppers_of_slabs_have_the_bits_of_one(ranks: int, least: int, options: list[str]) -> None:
    output = told([str(MPIEXEC), "-n", str(ranks), sys.executable, str(COMPARE), *options])
    found = re.search(r"(\d+) cases, (\d+) with", output)
    assert found, output
    assert int(found[1]) > least, output
    assert int(found[2]) == 0, output


@pytest.mark.long
def test_random_scenarios_have_the_bits_of_one_process() -> None:
    script = TESTS / "ranks" / "random_on_ranks.py"
    command = [str(MPIEXEC), "-n", "3", sys.executable, str(script), "--count", "30", "--seed", "5"]
    assert ", 0 with bits that differ" in told(command, PYTHONWARNINGS="ignore")


@needs_numba_cuda
def test_slabs_on_simulated_gpus_have_the_bits_of_one() -> None:
    command = [str(MPIEXEC), "-n", "2", sys.executable, "-m", "helpers.simulated", str(COMPARE), "--gpus"]
    assert "4 cases, 0 with" in told(command, NUMBA_ENABLE_CUDASIM="1", PYTHONWARNINGS="ignore")


@pytest.mark.gpu
@pytest.mark.parametrize("share", range(4))  # each compiles kernels for minutes
def test_slabs_on_gpus_have_the_bits_of_one(share: int) -> None:
    command = [str(MPIEXEC), "-n", "4", sys.executable, str(COMPARE), "--gpus", "--fewer-kernels"]
    output = told(command, SHARE=f"{share}/4")
    found = re.search(r"(\d+) cases, 0 with", output)
    assert found, output
    assert int(found[1]) > 50, output


# Enough cells for the solver to cut them. The second one by Newton's iterations, with a contact that closes.
IMPLICIT = PERFUSED.replace("[10, 8, 19]", "[36, 32, 58]").replace('"rkl2"', '"implicit", step = 300.0')
ITERATED = (
    MELTING.replace("[12, 9, 22]", "[36, 36, 52]")
    .replace('"euler"', '"implicit", step = 0.15, method = "backward-euler"')
    .replace("end = 0.3", "end = 0.05")
    .replace("count = 3", "count = 1")
    .replace("count = 6", "count = 1")
    .replace("resistance = 1e-5", 'resistance = "1e-5/(1 + t)"')
)


@pytest.mark.parametrize(
    ("text", "ranks"),
    [
        pytest.param(MELTING, 3, marks=pytest.mark.long),  # another test has it in steps of one length
        pytest.param(PERFUSED, 2, marks=pytest.mark.long),  # another test has it with files of each rank
        (IMPLICIT, 3),
        pytest.param(ITERATED, 2, marks=pytest.mark.long),
    ],
    ids=["melting", "perfused", "implicit", "iterated"],
)
def test_a_run_over_ranks_writes_the_bits_of_one_process(text: str, ranks: int, tmp_path: Path) -> None:
    file = written(tmp_path, text)
    told(heatsim(1, "run", file, "--output", tmp_path / "one"))
    output = told(heatsim(ranks, "run", file, "--output", tmp_path / "many"))
    assert f"{ranks} ranks of" in output
    assert "times as long as one" in output or "implicit" in text  # of so few cells
    one, many = results(tmp_path / "one"), results(tmp_path / "many")
    assert len(one) > 10
    assert one == many


@pytest.mark.gpu
@pytest.mark.parametrize("text", [MELTING, PERFUSED], ids=["melting", "perfused"])
def test_a_run_on_gpus_over_ranks_writes_the_bits_of_one_process(text: str, tmp_path: Path) -> None:
    file = written(tmp_path, text.replace('device = "cpu"', 'device = "cuda"'))
    told(heatsim(1, "run", file, "--output", tmp_path / "one"))
    assert "3 ranks on" in told(heatsim(3, "run", file, "--output", tmp_path / "many"))
    one, many = results(tmp_path / "one"), results(tmp_path / "many")
    assert len(one) > 10
    assert one == many


@pytest.mark.lowest
def test_a_run_goes_on_over_other_ranks_to_the_same_bits(tmp_path: Path) -> None:
    file, steps = written(tmp_path, MELTING), ("--set", "time.step=5e-4")
    told(heatsim(1, "run", file, *steps, "--output", tmp_path / "one"))
    saving = "--set", "output.checkpoint.every_minutes=1e-9"
    run = subprocess.Popen(heatsim(3, "run", file, *steps, *saving, "--output", tmp_path / "many"), **SILENT)
    try:
        until((tmp_path / "many" / "checkpoint.h5").is_file)
        run.terminate()
        assert run.wait(60) == 128 + signal.SIGTERM
    finally:
        run.kill()
    told(heatsim(2, "resume", tmp_path / "many", "--set", "output.checkpoint.every_minutes=10"))
    one, many = results(tmp_path / "one"), results(tmp_path / "many")
    assert one == many


# Short, without derived fields, and with snapshots that are taken for large ones.
PLAIN = MELTING.replace("end = 0.3", "end = 0.02").replace("fields = ", "slices = [] #").replace("slices = [{", "#")
WARMING = PERFUSED.replace("vessel = { temperature = 312.0", 'vessel = { temperature = "312 + t/100"')
LARGE = "import heatsim.solve.ranks.field as field; field.FILES_FROM = 0"


def test_ranks_write_files_of_their_own_that_read_as_one(tmp_path: Path) -> None:
    file, many = written(tmp_path, WARMING.replace("{ count = 2 }", "{ count = 3 }")), tmp_path / "many"
    told(heatsim(1, "run", file, "--output", tmp_path / "one"))
    main = "from heatsim.cli.main import main; main()"
    output = told(heatsim(3, "run", file, "--output", many, python=f"-c {LARGE}; {main}"))
    assert "3 ranks of" in output
    assert "times as long as one" in output  # of so few cells
    one, found, folder = results(tmp_path / "one"), results(many), RunFolder(many)
    assert {name: found[name] for name in one} == one
    assert len(list(folder.snapshots.iterdir())) == 4 * (3 + 2)
    for line in (folder.snapshots / "000001.sha256").read_text().splitlines():
        checksum, name = line.split("  ")
        assert hashlib.sha256((folder.snapshots / name).read_bytes()).hexdigest() == checksum
    assert read_array(folder.snapshot(2), "temperature").tobytes() == one["snapshots/000002.h5:temperature"]
    (folder.snapshots / "000001.2.h5").write_bytes(b"")
    with pytest.raises(InputFileError, match=r"000001\.2\.h5 has another size"):
        read_snapshot(folder.snapshot(1))
    folder.cut_snapshots(1)
    assert sorted(path.name for path in folder.snapshots.iterdir())[1:] == [f"000000.{n}.h5" for n in (1, 2)] + [
        "000000.h5", "000000.sha256"
    ]  # fmt: skip
    RunFolder.create(many, force=True)
    assert not list(folder.snapshots.iterdir())


class OneProcess:
    """In place of MPI's communicator."""

    rank, size = 0, 1

    def Ibarrier(self) -> OneProcess:
        return self

    def Test(self) -> bool:
        return True


def test_what_makes_the_planes_of_a_field_comes_to_its_end() -> None:
    links: Any = MpiLinks(OneProcess(), [Slab((3, 1, 2), 0, 3, 0, 0)])  # type: ignore[arg-type]
    ended = []

    def planes(count: int) -> Iterator[np.ndarray]:
        for z in range(count):
            yield np.full((1, 2), z)
        ended.append(count)  # where `State` learns the extent of the field

    assert links.scatter(planes(3), np.dtype(np.float32))[:, 0, 0].tolist() == [0, 1, 2]
    assert ended == [3]
    with pytest.raises(ValueError, match="expected 3 planes, found more"):
        links.scatter(planes(4), np.dtype(np.float32))


def test_a_run_folder_that_ranks_do_not_share_is_told(tmp_path: Path) -> None:
    file, out, elsewhere = written(tmp_path, PLAIN), tmp_path / "out", tmp_path / "elsewhere"
    elsewhere.mkdir()
    planted = (
        f"{LARGE}; import os, pathlib, heatsim.solve.ranks.parts as p; made = p.slab_path; "
        f"p.slab_path = lambda path, rank: made(pathlib.Path({str(elsewhere)!r}) / path.name if rank else path, rank); "
        "from heatsim.cli.main import main; main()"
    )
    message = told(heatsim(2, "run", file, "--output", out, python=f"-c {planted}"), RunFolderError.exit_code)
    assert "rank 1 has written it" in message


def test_halos_go_by_nccl_where_each_rank_has_a_gpu_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    own, shared = [FoundGpu("H200", name, "", "") for name in "ab"], [FoundGpu("H200", "a", "", "")] * 2
    without = [own[0], own[1]._replace(no_nccl="CuPy's NCCL is missing")]
    monkeypatch.delenv(CHOICE, raising=False)
    found = [choose_transport(gpus) for gpus in (own, shared, without)]
    assert [each.transport for each in found] == [NCCL, HOST, HOST]
    assert [each.shared_by for each in found] == [1, 2, 1]
    monkeypatch.setenv(CHOICE, NCCL)
    for gpus, reason in ((shared, "share 1 GPU"), (without, "CuPy's NCCL is missing")):
        with pytest.raises(RequestError, match=reason):
            choose_transport(gpus)
    monkeypatch.setenv(CHOICE, "other")
    with pytest.raises(RequestError, match='expected "host" or "nccl", found "other"'):
        choose_transport(own)


def test_more_gpus_gain_where_a_slab_has_many_cells() -> None:
    gpus = Gpus("", NCCL, "", 1)
    for cells, gains in ((8, False), (256, True)):
        coefficients = StencilCoefficients((4 * cells, cells, cells), np.full((1, 6), 0.1), np.ones(1))
        assert (predicted_speedup(coefficients, np.dtype(np.float32), 4, 1, gpus) > 2.0) == gains


def test_what_ranks_cannot_run_is_refused_once_and_writes_nothing(tmp_path: Path) -> None:
    file, out = written(tmp_path, MELTING), tmp_path / "out"
    refused = {"compute.kernel=register": "compute.kernel", "grid.cells=[12, 9, 1]": "2 ranks"}
    for override, expected in refused.items():
        message = told(heatsim(2, "run", file, "--set", override, "--output", out), 2)
        assert expected in message
        assert message.count("error:") == 1
        assert not out.exists()


def test_processes_that_cannot_be_ranks_say_why(tmp_path: Path) -> None:
    file = written(tmp_path, PERFUSED)
    assert "MPI knows 1" in told(heatsim(1, "run", file), 2, PMI_SIZE="3")
    other = "import heatsim.solve.ranks.parts as p; p.__version__ = '0.0'; from heatsim.cli.main import main; main()"
    command = [*heatsim(1, "run", file), ":", "-n", "1", sys.executable, "-c", other, "run", str(file)]
    assert "different versions" in told([str(MPIEXEC), "-n", "1", *command], 2)
    broken = "import sys; sys.modules['heatsim.solve.ranks.parts'] = None; from heatsim.cli.main import main; main()"
    command = [*heatsim(1, "run", file), ":", "-n", "1", sys.executable, "-c", broken, "run", str(file)]
    assert "heatsim.solve.ranks.parts" in told([str(MPIEXEC), "-n", "1", *command], FAILED)


@pytest.mark.parametrize("rank", [0, 1])
def test_an_error_in_one_rank_ends_all_and_is_told(rank: int, tmp_path: Path) -> None:
    file, out = written(tmp_path, MELTING), tmp_path / "out"
    planted = (
        "import os, heatsim.solve.ranks.parts as p\nfrom heatsim.errors import HeatsimError\n"
        "def fail(self):\n"
        f"    if os.environ['PMI_RANK'] == '{rank}':\n"
        "        raise HeatsimError('planted')\n"
        "    return self._links.gather(self._field.host()[self._own])\n"
        "p.Part.host = fail\nfrom heatsim.cli.main import main\nmain()"
    )
    command = [str(MPIEXEC), "-n", "2", sys.executable, "-c", planted, "run", str(file), "--output", str(out)]
    message = told(command, FAILED)
    assert "planted" in message


def test_a_rank_that_dies_ends_all_and_leaves_the_checkpoint(tmp_path: Path) -> None:
    file, out = written(tmp_path, MELTING), tmp_path / "out"
    options = "--set", "time.end=1e5", "--set", "output={snapshots={count=1}, checkpoint={every_minutes=1e-3}}"
    run = subprocess.Popen(heatsim(3, "run", file, "--output", out, *options), **SILENT)
    try:
        until((out / "checkpoint.h5").is_file)
        assert len(workers(out)) == 2
        os.kill(workers(out)[0], signal.SIGKILL)
        assert run.wait(30) != 0
    finally:
        run.kill()
    assert workers(out) == []
    told(heatsim(1, "resume", out, "--set", "output.checkpoint.every_minutes=10", "--max-time", "0.001s"), 75)


def workers(out: Path) -> list[int]:
    """The processes that are ranks of the run in a folder, but for the first."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            environment = (process / "environ").read_bytes().split(b"\0")
            ranks = [value for value in environment if value.startswith(b"PMI_RANK=")]
            if str(out).encode() in (process / "cmdline").read_bytes() and ranks not in ([], [b"PMI_RANK=0"]):
                found.append(int(process.name))
    return found


def until(happened: Callable[[], bool], seconds: float = 120.0) -> None:
    """Wait for something."""
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end
        time.sleep(0.02)
