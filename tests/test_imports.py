"""Who may import whom: the tables of docs/architecture.md, enforced on the source text."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from helpers.in_turn import in_turn

ROOT = Path(__file__).parents[1]
TREES = {"heatsim": ROOT / "heatsim", "heatsim_kernels": ROOT / "kernels" / "heatsim_kernels"}

# Room -> what it may import beside itself, the standard library and (in heatsim) heatsim.errors and
# heatsim.quantity. The longest name wins.
ROOMS = {
    "heatsim": {
        "heatsim.scenario",
        "heatsim.simulation",
        "heatsim.sweeps",
        "heatsim.impedance",
        "heatsim.imports",
        "heatsim.homogenisation",
        "heatsim.store.inputs",
        "heatsim.cli.main",
        "heatsim.progress",
        "heatsim.arguments",
        "numpy",
        "xarray",
    },
    "heatsim.progress": {"heatsim.plots", "IPython"},
    "heatsim.errors": {"heatsim.errors"},
    "heatsim.methods": set(),
    "heatsim.quantity": set(),
    "heatsim.shown": set(),
    "heatsim.version": set(),
    "heatsim.evaluations": set(),
    "heatsim.threads": {"numpy"},
    "heatsim.scenario": {
        "heatsim.methods",
        "heatsim.physics.boundary",
        "heatsim_kernels.stencil",  # names of the kernels; it imports nothing heavy
        "pydantic",
        "pydantic_core",
        "numpy",
        "tomli_w",
    },
    "heatsim.scenario.toml": {"pydantic_core"},
    "heatsim.scenario.expressions": {
        "heatsim.scenario.csv_file",
        "heatsim.scenario.toml",
        "heatsim.scenario.units",
        "numpy",
    },
    "heatsim.scenario.csv_file": {"heatsim.scenario.toml.messages", "heatsim.scenario.units", "numpy"},
    "heatsim.scenario.base_model": {"heatsim.scenario.toml", "pydantic", "pydantic_core"},
    "heatsim.scenario.units": {"heatsim.scenario.toml.messages"},
    "heatsim.scenario.value_types": {
        "heatsim.scenario.units",
        "heatsim.scenario.toml",
        "heatsim.scenario.expressions",
        "pydantic",
        "pydantic_core",
    },
    "heatsim.geometry.grid": {"numpy"},
    "heatsim.geometry": {"heatsim.scenario", "heatsim.store.inputs", "numpy", "gdstk", "trimesh", "rtree"},
    "heatsim.physics.boundary": {
        "heatsim.scenario.base_model",
        "heatsim.scenario.toml",
        "heatsim.scenario.expressions",
        "heatsim.scenario.value_types",
        "pydantic",
        "numpy",
    },
    "heatsim.physics": {"heatsim.scenario", "heatsim.geometry", "heatsim_kernels", "numpy"},
    "heatsim.problem": {"heatsim.scenario", "heatsim.geometry", "heatsim.physics", "heatsim_kernels", "numpy"},
    "heatsim.store": {"h5py", "isal", "numpy", "PIL", "av", "tifffile", "heatsim.geometry.grid"},
    "heatsim.store.inputs": {
        "heatsim.store.hdf5_input",
        "heatsim.store.input_checks",
        "heatsim.store.tiff",
        "numpy",
        "PIL",
    },
    "heatsim.store.tiff": {"heatsim.store.input_checks", "numpy", "PIL", "tifffile"},
    "heatsim.plots": {"matplotlib", "numpy"},
    "heatsim.pictures": {
        "heatsim.store",
        "heatsim.plots",
        "heatsim.geometry.grid",
        "heatsim.geometry.floorplans",
        "numpy",
    },
    "heatsim.pictures.preview": {
        "heatsim.pictures",
        "heatsim.plots",
        "heatsim.geometry",
        "numpy",
    },
    "heatsim.pictures.vectors": {
        "heatsim.pictures",
        "heatsim.problem",
        "heatsim.scenario",
        "heatsim.store",
        "numpy",
    },
    "heatsim.viewer": {"heatsim.store", "heatsim.plots", "heatsim.geometry.grid", "numpy"},
    "heatsim.hotspots": {"heatsim_kernels", "numpy"},
    "heatsim.integrators": {"heatsim_kernels", "heatsim.ranks", "numpy"},
    "heatsim.ranks": {"heatsim.store", "heatsim_kernels", "cupy", "mpi4py", "numpy"},
    "heatsim.recorders": {
        "heatsim.store",
        "heatsim.plots",
        "heatsim.pictures",
        "heatsim.hotspots",
        "heatsim.geometry.grid",
        "numpy",
    },
    "heatsim.simulation": {
        "heatsim",
        "heatsim.scenario",
        "heatsim.geometry",
        "heatsim.problem",
        "heatsim.integrators",
        "heatsim.ranks",
        "heatsim.recorders",
        "heatsim.pictures",
        "heatsim.store",
        "heatsim.viewer",
        "heatsim_kernels",
        "numba",
        "numpy",
        "xarray",
    },
    "heatsim.tables": {"heatsim.store.atomic", "rich"},
    "heatsim.bench": {
        "heatsim_kernels",
        "heatsim.simulation.device_selection",
        "heatsim.store",
        "heatsim.tables",
        "heatsim.plots",
        "numpy",
    },
    "heatsim.bench.integrators": {
        "heatsim.bench",
        "heatsim.simulation",
        "heatsim.integrators",
        "heatsim.plots",
        "heatsim.problem",
        "heatsim.scenario",
        "heatsim.tables",
        "numpy",
        "tomli_w",
    },
    "heatsim.sweeps.gradients": {
        "heatsim.sweeps.runs",
        "heatsim.simulation",
        "heatsim.problem",
        "heatsim.integrators",
        "heatsim.recorders.probes",
        "heatsim.recorders.quantities",
        "heatsim.scenario",
        "numpy",
    },
    "heatsim.sweeps": {
        "heatsim.simulation",
        "heatsim.scenario",
        "heatsim.store",
        "heatsim.plots",
        "distributed",
        "numba",
        "numpy",
        "xarray",
    },
    "heatsim.imports": {"heatsim.scenario", "heatsim.geometry.floorplans", "numpy", "tomli_w"},
    "heatsim.impedance": {
        "heatsim.simulation",
        "heatsim.problem",
        "heatsim.integrators",
        "heatsim.recorders.probes",
        "heatsim.scenario",
        "heatsim.store",
        "heatsim.plots",
        "numpy",
        "scipy",
    },
    "heatsim.homogenisation": {
        "heatsim.integrators.balance",
        "heatsim.simulation.device_selection",
        "heatsim.simulation.free_resources",
        "heatsim.store",
        "heatsim.plots",
        "heatsim_kernels",
        "numpy",
        "vtkmodules",
    },
    "heatsim.verification": {
        "heatsim.simulation",
        "heatsim.scenario",
        "heatsim.problem",
        "heatsim.geometry.grid",
        "heatsim.store",
        "heatsim.plots",
        "heatsim.tables",
        "numpy",
    },
    "heatsim.cli": {"heatsim", "click", "rich", "h5py"},
    # Beside these, kernels may import NumPy, Numba and llvmlite.
    "heatsim_kernels": set(),
    "heatsim_kernels.runtime": {"cuda"},
    "heatsim_kernels.field": {"heatsim_kernels.runtime"},
    "heatsim_kernels.stencil": {"heatsim_kernels.runtime", "heatsim_kernels.field"},
    "heatsim_kernels.multigrid": {"heatsim_kernels.runtime", "heatsim_kernels.field", "heatsim_kernels.stencil"},
    "heatsim_kernels.enthalpy": {
        "heatsim_kernels.runtime",
        "heatsim_kernels.field",
        "heatsim_kernels.stencil",
        "heatsim_kernels.multigrid",
    },
    "heatsim_kernels.convolution": {"heatsim_kernels.runtime"},
    "heatsim_kernels.filter_bank": {"heatsim_kernels.runtime"},
}
# For all rooms of heatsim.
FREE = {
    "heatsim.errors",
    "heatsim.evaluations",
    "heatsim.methods",
    "heatsim.quantity",
    "heatsim.shown",
    "heatsim.threads",
    "heatsim.version",
}
KERNELS_MAY_IMPORT = {"numpy", "numba", "llvmlite"}
# What a room may name in annotations, that is under `if TYPE_CHECKING`.
ANNOTATIONS = {
    "heatsim.integrators": {"heatsim.problem", "heatsim.simulation.state"},
    "heatsim.progress": {"heatsim.scenario", "heatsim.simulation.time_loop"},
    "heatsim.pictures": {"heatsim.scenario"},
    "heatsim.pictures.preview": {"heatsim.problem", "heatsim.scenario"},
    "heatsim.recorders": {"heatsim.problem", "heatsim.simulation.state", "heatsim.scenario"},
}
# What one place alone imports, whatever else the importing module may do. The command line may import all but CUDA.
OWNERS = {
    "numba.cuda": ("heatsim_kernels.runtime.cuda.api",),
    "cuda": ("heatsim_kernels.runtime.cuda.api",),
    "h5py": ("heatsim.store", "heatsim.cli"),
    "matplotlib": ("heatsim.plots", "heatsim.cli"),
    "pydantic": ("heatsim.scenario", "heatsim.physics.boundary", "heatsim.cli"),
    "heatsim.cli": ("heatsim.cli", "heatsim.__main__"),
}


class Import(NamedTuple):
    names: tuple[str, ...]  # for `from a import b` both a and a.b, as b may be a module
    line: int
    annotation: bool


def within(name: str, rooms: Iterator[str] | set[str] | tuple[str, ...]) -> bool:
    return any(name == room or name.startswith(room + ".") for room in rooms)


def is_type_checking(test: ast.expr) -> bool:
    return (test.attr if isinstance(test, ast.Attribute) else getattr(test, "id", "")) == "TYPE_CHECKING"


def imports(node: ast.AST, package: str, annotation: bool = False) -> Iterator[Import]:
    """All imports of a syntax tree, wherever they stand; `package` is what relative ones start from."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield Import((alias.name,), node.lineno, annotation)
    elif isinstance(node, ast.ImportFrom):
        parents = package.split(".")
        base = ".".join(parents[: len(parents) - node.level + 1]) if node.level else ""
        source = ".".join(part for part in (base, node.module) if part)
        for alias in node.names:
            yield Import((source, f"{source}.{alias.name}"), node.lineno, annotation)
    elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.attr == "cuda":
        yield Import((f"{node.value.id}.cuda",), node.lineno, annotation)  # `import numba`, then `numba.cuda`
    elif isinstance(node, ast.If) and is_type_checking(node.test):
        for child in node.body:
            yield from imports(child, package, annotation=True)
        for child in node.orelse:
            yield from imports(child, package, annotation)
        return
    for child in ast.iter_child_nodes(node):
        yield from imports(child, package, annotation)


def room_of(module: str) -> str | None:
    return max((room for room in ROOMS if within(module, (room,))), key=len, default=None)


def is_allowed(found: Import, module: str) -> bool:
    for name, owners in OWNERS.items():
        if any(within(each, (name,)) for each in found.names) and not within(module, owners):
            return False
    room = room_of(module)
    if room is None or found.names[0].partition(".")[0] in sys.stdlib_module_names:
        return True
    allowed = {room, *ROOMS[room], *(ANNOTATIONS.get(room, ()) if found.annotation else ())}
    allowed |= FREE if room.startswith("heatsim.") else KERNELS_MAY_IMPORT
    return any(within(each, allowed) for each in found.names)


def violations(source: str, module: str, is_package: bool = False) -> list[str]:
    """`module:line: name` of each import that the table does not allow."""
    package = module if is_package else module.rpartition(".")[0]
    found = imports(ast.parse(source), package)
    return [f"{module}:{each.line}: {each.names[-1]}" for each in found if not is_allowed(each, module)]


def modules() -> Iterator[tuple[str, Path]]:
    for name, folder in TREES.items():
        for path in sorted(folder.rglob("*.py")):
            parts = path.relative_to(folder).with_suffix("").parts
            yield ".".join([name, *(part for part in parts if part != "__init__")]), path


def test_no_room_imports_what_the_table_does_not_allow() -> None:
    found = list(modules())
    assert {room_of(module) for module, _ in found} >= {"heatsim.scenario", "heatsim.store", "heatsim_kernels"}
    bad = [
        each
        for module, path in found
        for each in violations(path.read_text(encoding="utf-8"), module, path.name == "__init__.py")
    ]
    assert not bad, "\n".join(bad)


@in_turn("module", ["heatsim.physics.boundary.flux", "heatsim.scenario.boundary", "heatsim.scenario.base_model"])
def test_parts_below_the_scenario_are_imported_alone(module: str) -> None:
    """No circle through `heatsim.scenario`, and no kernel at start-up."""
    code = f"import sys, {module}; assert not {{'numba', 'heatsim.scenario.model'}} & sys.modules.keys()"
    subprocess.run([sys.executable, "-c", code], check=True)


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """The circles of a graph, one each of those that are found on the way down."""
    found: list[list[str]] = []
    done: set[str] = set()

    def visit(name: str, path: list[str]) -> None:
        if name in path:
            found.append([*path[path.index(name) :], name])
        elif name not in done:
            for other in sorted(graph.get(name, ())):
                visit(other, [*path, name])
            done.add(name)

    for name in sorted(graph):
        visit(name, [])
    return found


def imported_at_once(tree: ast.Module) -> ast.Module:
    """What a module does when it is imported: its functions' bodies left out."""
    tree.body = [node for node in tree.body if not isinstance(node, ast.FunctionDef | ast.ClassDef)]
    return tree


def test_no_modules_import_each_other_in_a_circle() -> None:
    paths = dict(modules())
    graph = {}
    for module, path in paths.items():
        package = module if path.name == "__init__.py" else module.rpartition(".")[0]
        tree = imported_at_once(ast.parse(path.read_text(encoding="utf-8")))
        found = [each for each in imports(tree, package) if not each.annotation]
        graph[module] = {next((name for name in each.names[::-1] if name in paths), module) for each in found} - {
            module
        }
    assert sum(map(len, graph.values())) > 500
    assert circles(graph) == []
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [["a", "b", "c", "a"]]


def test_one_file_alone_imports_numba_cuda() -> None:
    using = {
        module
        for module, path in modules()
        for each in imports(ast.parse(path.read_text(encoding="utf-8")), module)
        if any(within(name, ("numba.cuda",)) for name in each.names)
    }
    assert using == {"heatsim_kernels.runtime.cuda.api"}


@in_turn(
    ("module", "source"),
    [
        ("heatsim.scenario.model", "import h5py"),
        ("heatsim.scenario.model", "def f():\n    from heatsim.problem import Problem"),
        ("heatsim.scenario.model", "from heatsim import store"),
        ("heatsim.scenario.boundary", "from heatsim.physics.boundary_faces import BoundaryFaces"),
        ("heatsim.scenario.base_model", "from heatsim.physics.boundary.flux import Flux"),
        ("heatsim.physics.boundary.flux", "from heatsim.scenario import Scenario"),
        ("heatsim.physics.boundary.flux", "from heatsim_kernels.enthalpy.coefficients import FIXED"),
        ("heatsim.scenario.model", "from ..store import folder"),
        ("heatsim.problem.faces", "import matplotlib.pyplot as plt"),
        ("heatsim.problem.faces", "from heatsim.store.folder import RunFolder"),
        ("heatsim.problem", "from heatsim.store import snapshots"),
        ("heatsim.store.folder", "import pydantic"),
        ("heatsim.store.folder", "from heatsim.scenario import Scenario"),
        ("heatsim.store.folder", "if TYPE_CHECKING:\n    from heatsim.scenario import Scenario"),
        ("heatsim.plots.slices", "from heatsim.store import snapshots"),
        ("heatsim.plots.slices", "import PIL.Image"),
        ("heatsim.integrators.euler", "from heatsim.recorders import probes"),
        ("heatsim.integrators.euler", "if TYPE_CHECKING:\n    pass\nelse:\n    from heatsim.recorders import probes"),
        ("heatsim.integrators.euler", "from numba import njit"),
        ("heatsim.recorders.probes", "from heatsim.simulation.state import State"),
        ("heatsim.recorders.probes", "import h5py"),
        ("heatsim.hotspots.finder", "from heatsim.store import slice_frames"),
        ("heatsim.hotspots.finder", "from heatsim.geometry.grid import CellGrid"),
        ("heatsim.bench.stencil.kernels", "from heatsim.problem import build"),
        ("heatsim.bench.harness", "import matplotlib.pyplot as plt"),
        ("heatsim.verification.report", "from heatsim.bench import harness"),
        ("heatsim.bench.timing", "from numba import cuda"),
        ("heatsim.geometry.grid", "from heatsim.store import folder"),
        ("heatsim.geometry.voxelise", "from heatsim.store.folder import RunFolder"),
        ("heatsim.geometry.interface_areas", "from heatsim.physics.materials import Materials"),
        ("heatsim.simulation.time_loop", "import h5py"),
        ("heatsim.simulation.time_loop", "from heatsim.cli.main import main"),
        ("heatsim.cli.main", "from numba import cuda"),
        ("heatsim_kernels.runtime.fma", "from heatsim.errors import Flaw"),
        ("heatsim_kernels.runtime.fma", "import scipy"),
        ("heatsim_kernels.runtime.fma", "from heatsim_kernels.stencil import physics"),
        ("heatsim_kernels.field.window_source", "from heatsim_kernels.stencil.coefficients import Forcing"),
        ("heatsim_kernels.stencil.heat_ledger", "from heatsim_kernels.enthalpy.coefficients import NonlinearForcing"),
        ("heatsim_kernels.multigrid.solver", "from heatsim_kernels.enthalpy import linearised"),
        ("heatsim_kernels.filter_bank.cuda.bank", "from heatsim_kernels.convolution import masks"),
        ("heatsim_kernels.stencil.ladder.basic", "from numba import cuda"),
        ("heatsim_kernels.stencil.ladder.basic", "import numba.cuda.random"),
        ("heatsim_kernels.stencil.ladder.basic", "from numba.cuda import jit"),
        ("heatsim_kernels.stencil.ladder.basic", "import numba\nx = numba.cuda.grid(1)"),
    ],
)
def test_a_planted_violation_is_found(module: str, source: str) -> None:
    assert len(violations(source, module)) == 1


@in_turn(
    ("module", "source"),
    [
        ("heatsim.scenario.model", "import json, tomllib\nimport numpy as np\nfrom heatsim.errors import Flaw"),
        ("heatsim.scenario.model", "from heatsim import errors\nfrom .shapes import Shape\nfrom . import values"),
        ("heatsim.geometry.voxelise", "from heatsim.store import inputs\nfrom heatsim.store.inputs import read_array"),
        ("heatsim.integrators.euler", "if TYPE_CHECKING:\n    from heatsim.problem import Problem"),
        ("heatsim.integrators.euler", "if typing.TYPE_CHECKING:\n    from heatsim.problem.types import Problem"),
        (
            "heatsim.recorders.probes",
            "from heatsim.store.tables import CsvTable\nfrom heatsim.geometry.grid import CellGrid",
        ),
        (
            "heatsim.bench.timing",
            "from heatsim_kernels.runtime.cuda.api import cuda\nfrom heatsim.store import atomic",
        ),
        ("heatsim.simulation.time_loop", "from heatsim.problem import Problem\nfrom heatsim.recorders import probes"),
        ("heatsim.cli.main", "import click\nfrom heatsim.simulation.time_loop import run\nimport h5py"),
        ("heatsim_kernels.stencil.ladder.basic", "from ..cuda_api import cuda\nfrom numba import njit"),
        ("heatsim_kernels.runtime.cuda.api", "from numba import cuda\nfrom numba.cuda.extending import lower_builtin"),
    ],
)
def test_what_the_table_allows_is_not_reported(module: str, source: str) -> None:
    assert violations(source, module) == []
