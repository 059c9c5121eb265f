"""The floors of docs/architecture.md, enforced on the source text. Imports inside functions count."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from helpers.in_turn import in_turn

ROOT = Path(__file__).parents[1]
TREES = {"heatsim_kernels": ROOT / "kernels" / "heatsim_kernels", "heatsim": ROOT / "heatsim"}
# From the ground up: a module imports from its own floor and from those below it. All floors of the kernels lie below
# those of heatsim. A room is a folder or a file in a floor.
FLOORS = {
    "heatsim_kernels": ("device", "field", "explicit", "solver"),
    "heatsim": ("errors", "base", "store", "scenario", "problem", "solve", "output", "simulation", "studies", "cli"),
}
# What may be imported by some alone: name -> by whom.
OWNERS = {
    "IPython": ("heatsim.simulation.progress",),
    "PIL": ("heatsim.store",),
    "av": ("heatsim.store",),
    "click": ("heatsim.cli",),
    "cuda": ("heatsim_kernels.device.cuda.api",),
    "cupy": ("heatsim.solve.ranks",),
    "distributed": ("heatsim.studies.sweeps",),
    "gdstk": ("heatsim.problem.shapes",),
    "h5py": ("heatsim.store",),
    "heatsim.cli": ("heatsim.cli", "heatsim.__main__"),
    "heatsim_kernels": (
        "heatsim_kernels",
        "heatsim.scenario.time_and_compute",  # names of the kernels, from a package that imports nothing heavy
        "heatsim.problem",
        "heatsim.solve",
        "heatsim.output.hotspots",
        "heatsim.simulation",
        "heatsim.studies",
    ),
    "isal": ("heatsim.store",),
    "llvmlite": ("heatsim_kernels",),
    "matplotlib": ("heatsim.output.pictures",),
    "mpi4py": ("heatsim.solve.ranks",),
    "numba": ("heatsim_kernels", "heatsim.simulation", "heatsim.studies.sweeps"),
    "numba.cuda": ("heatsim_kernels.device.cuda.api",),
    "numpy": ("heatsim", "heatsim_kernels"),
    "pydantic": ("heatsim.scenario",),
    "pydantic_core": ("heatsim.scenario",),
    "rich": ("heatsim.base.tables", "heatsim.cli"),
    "rtree": ("heatsim.problem.shapes",),
    "scipy": ("heatsim.studies.impedance",),
    "tifffile": ("heatsim.store",),
    "tomli_w": ("heatsim.scenario", "heatsim.studies"),
    "trimesh": ("heatsim.problem.shapes",),
    "vtkmodules": ("heatsim.studies.homogenisation",),
    "xarray": ("heatsim",),
}
# Rooms that know little, and all that they may import of heatsim beside errors and base.
ALONE = {
    "heatsim.scenario.language": (),
    "heatsim.scenario.faces": ("heatsim.scenario.language",),
    "heatsim.store": (),
    "heatsim.output.hotspots": ("heatsim_kernels",),
}


class Import(NamedTuple):
    """An import: for `from a import b` the names a and a.b, since b may be a module."""

    names: tuple[str, ...]
    line: int
    annotation: bool


def within(name: str, rooms: tuple[str, ...]) -> bool:
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


def floor_of(module: str) -> tuple[int, int]:
    """The tree, and the floor in it, from the ground up. What lies on no floor, as the public names of heatsim and the
    root of each tree, lies on top."""
    tree, _, rest = module.partition(".")
    name = rest.partition(".")[0]
    floors = FLOORS[tree]
    return list(FLOORS).index(tree), floors.index(name) if name in floors else len(floors)


def room_of(module: str) -> str:
    return ".".join(module.split(".")[:3])


def is_allowed(found: Import, module: str) -> bool:
    for name, owners in OWNERS.items():
        if any(within(each, (name,)) for each in found.names) and not within(module, owners):
            return False
    top = found.names[0].partition(".")[0]
    if top not in FLOORS:
        return top in sys.stdlib_module_names or top in OWNERS
    target = found.names[-1]
    below = "heatsim.errors", "heatsim.base"
    for room, others in ALONE.items():
        if within(module, (room,)) and not within(target, (room, *others, *below)):
            return False
    return target == "heatsim.errors" or floor_of(target) <= floor_of(module)


def violations(source: str, module: str, is_package: bool = False) -> list[str]:
    """`module:line: name` of each import that goes up, or that is another's."""
    package = module if is_package else module.rpartition(".")[0]
    found = imports(ast.parse(source), package)
    return [f"{module}:{each.line}: {each.names[-1]}" for each in found if not is_allowed(each, module)]


def modules() -> dict[str, Path]:
    paths = {}
    for name, folder in TREES.items():
        for path in sorted(folder.rglob("*.py")):
            parts = path.relative_to(folder).with_suffix("").parts
            paths[".".join([name, *(part for part in parts if part != "__init__")])] = path
    return paths


def graph(of: ast.NodeVisitor | None = None) -> dict[str, set[str]]:
    """What each module imports of heatsim, annotations aside."""
    paths, found = modules(), {}
    for module, path in paths.items():
        package = module if path.name == "__init__.py" else module.rpartition(".")[0]
        tree = ast.parse(path.read_text(encoding="utf-8"))
        if of is not None:
            tree = of.visit(tree)
        used = (each for each in imports(tree, package) if not each.annotation)
        found[module] = {next((name for name in each.names[::-1] if name in paths), module) for each in used} - {module}
    return found


def circles(arrows: dict[str, set[str]]) -> list[list[str]]:
    """The circles of a graph, one each of those that are found on the way down."""
    found: list[list[str]] = []
    done: set[str] = set()

    def visit(name: str, path: list[str]) -> None:
        if name in path:
            found.append([*path[path.index(name) :], name])
        elif name not in done:
            for other in sorted(arrows.get(name, ())):
                visit(other, [*path, name])
            done.add(name)

    for name in sorted(arrows):
        visit(name, [])
    return found


class AtOnce(ast.NodeTransformer):
    """What a module does when it is imported: functions and classes left out."""

    def visit_Module(self, node: ast.Module) -> ast.Module:
        node.body = [each for each in node.body if not isinstance(each, ast.FunctionDef | ast.ClassDef)]
        return node


def test_imports_go_down_only_and_libraries_have_owners() -> None:
    found = modules()
    assert len(found) > 300
    rooms = {name.split(".")[1] for name in found if name.startswith("heatsim.")} - {"__main__"}
    assert rooms == set(FLOORS["heatsim"])
    bad = [
        each
        for module, path in found.items()
        for each in violations(path.read_text(encoding="utf-8"), module, path.name == "__init__.py")
    ]
    assert not bad, "\n".join(bad)


def test_no_rooms_import_each_other_in_a_circle() -> None:
    arrows: dict[str, set[str]] = {}
    for module, others in graph().items():
        floor = floor_of(module)
        near = {room_of(other) for other in others if floor_of(other) == floor}
        arrows.setdefault(room_of(module), set()).update(near - {room_of(module)})
    assert sum(map(len, arrows.values())) > 50
    # A floor's own name is the door to its rooms: its names are imported from above only.
    assert circles({room: others for room, others in arrows.items() if room.count(".") == 2}) == []


def test_no_modules_import_each_other_in_a_circle() -> None:
    arrows = graph(AtOnce())
    assert sum(map(len, arrows.values())) > 500
    assert circles(arrows) == []
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [["a", "b", "c", "a"]]


@in_turn("module", ["heatsim.scenario.faces.flux", "heatsim.scenario.boundary", "heatsim.scenario.language.base_model"])
def test_parts_below_the_scenario_are_imported_alone(module: str) -> None:
    """No circle through `heatsim.scenario`, and no kernel at start-up."""
    code = f"import sys, {module}; assert not {{'numba', 'heatsim.scenario.model'}} & sys.modules.keys()"
    subprocess.run([sys.executable, "-c", code], check=True)


@in_turn(
    ("module", "source"),
    [
        ("heatsim.scenario.model", "import h5py"),
        ("heatsim.scenario.model", "def f():\n    from heatsim.problem import Problem"),
        ("heatsim.scenario.model", "import heatsim"),
        ("heatsim.scenario.boundary", "if TYPE_CHECKING:\n    from heatsim.problem.terms import boundary_faces"),
        ("heatsim.scenario.language.base_model", "from heatsim.scenario.faces.flux import Flux"),
        ("heatsim.scenario.faces.flux", "from heatsim.scenario import Scenario"),
        ("heatsim.scenario.model", "from ..output import pictures"),
        ("heatsim.scenario.model", "import requests"),
        ("heatsim.problem.terms.faces", "import matplotlib.pyplot as plt"),
        ("heatsim.problem", "from heatsim import solve"),
        ("heatsim.store.folder", "from heatsim.scenario import Scenario"),
        ("heatsim.output.hotspots.finder", "from heatsim.store import snapshots"),
        ("heatsim.solve.integrators.euler", "if x:\n    pass\nelse:\n    from heatsim.output.recorders import probes"),
        ("heatsim.output.recorders.probes", "if TYPE_CHECKING:\n    from heatsim.simulation.run import Run"),
        ("heatsim.simulation.time_loop", "from heatsim.cli.main import main"),
        ("heatsim.cli.main", "from numba import cuda"),
        ("heatsim.store.folder", "from heatsim_kernels.device import fma"),
        ("heatsim_kernels.device.fma", "from heatsim.errors import Flaw"),
        ("heatsim_kernels.device.fma", "import scipy"),
        ("heatsim_kernels.device.fma", "from heatsim_kernels.explicit import physics"),
        ("heatsim_kernels.explicit.heat_ledger", "from heatsim_kernels.solver.linearised import build"),
        ("heatsim_kernels.explicit.ladder.basic", "import numba\nx = numba.cuda.grid(1)"),
    ],
)
def test_a_planted_violation_is_found(module: str, source: str) -> None:
    assert len(violations(source, module)) == 1


@in_turn(
    ("module", "source"),
    [
        ("heatsim.scenario.model", "import json, tomllib\nimport numpy as np\nfrom heatsim.errors import Flaw"),
        ("heatsim.scenario.model", "from heatsim import errors\nfrom .faces import flux\nfrom . import values"),
        ("heatsim.problem.shapes.voxelise", "from heatsim.store import inputs\nfrom heatsim.scenario import Scenario"),
        ("heatsim.solve.integrators.euler", "if TYPE_CHECKING:\n    from heatsim.problem import Problem"),
        ("heatsim.cli.main", "import click\nfrom heatsim.simulation.time_loop import run"),
        ("heatsim_kernels.device.cuda.api", "from numba import cuda\nfrom numba.cuda.extending import lower_builtin"),
    ],
)
def test_what_goes_down_is_not_reported(module: str, source: str) -> None:
    assert violations(source, module) == []
