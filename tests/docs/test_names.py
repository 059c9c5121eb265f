"""Every name in backticks exists: in the documents, and in the docstrings of heatsim and of the kernels.

What counts as a name, where it is all that stands between two backticks:

- an identifier, or several with dots: each of them is an identifier of the code, a word in one of its strings (a key, a
  column, a dataset), or the name of a file;
- a path with a slash, to a source file by its ending: it ends the path of a file that is there; of a file that a recipe
  makes, NAME, the folder is there;
- a module with its folder, as `explicit.physics`: the same;
- another path, as in a run folder: its words are words of the code;
- an option, as `--set`: it is a word of the code.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
WHOLE = ("benchmarks", "tests", "scenarios", "heatsim")  # whose files count with all their words
SKIPPED = {".git", ".venv", "build", "outputs", "__pycache__", "node_modules"}
ENDINGS = (".py", ".md", ".toml", ".js", ".ipynb")
PATH = re.compile(r"[\w.-]+(?:/[\w.-]+)+/?|\w+/")
DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*(?:\(\))?")
MODULE = re.compile(r"[a-z_]\w*(?:\.[a-z_]\w*)+")
OPTION = re.compile(r"--[a-z][a-z-]+")
# Names of other programs and in their files, and names that are put together of others.
OTHERS = {
    *("mpicc", "multiprocessing", "pint", "quantify", "scipy", "ndimage", "correlate", "inline_ir", "zsh_source"),
    *("cuProfilerStart", "cuProfilerStop", "ev6", "example_transient_nonuniform", "material_interface"),
    *("material_spreader", "layer_2_bank", "die_core", "CORE_DIE_Core1", "slice2", "0000", "0001", "quick_start"),
    *("preparing_seconds", "recording_seconds", "pictures_seconds", "PLACE_from_SOURCE"),
}


@cache
def files() -> tuple[Path, ...]:
    """The files of the tree, of which nothing generated."""
    found = (path for path in ROOT.rglob("*") if not SKIPPED & set(path.relative_to(ROOT).parts) and path.is_file())
    return tuple(sorted(found))


@cache
def trees() -> dict[Path, ast.Module]:
    own = (
        path for path in files() if path.suffix == ".py" and path.relative_to(ROOT).parts[0] in ("heatsim", "kernels")
    )
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in own}


def docstrings() -> Iterator[tuple[Path, str]]:
    kinds = ast.Module, ast.ClassDef, ast.FunctionDef
    for path, tree in trees().items():
        for node in ast.walk(tree):
            text = ast.get_docstring(node, clean=False) if isinstance(node, kinds) else None
            if text:
                yield path, text


@cache
def words() -> frozenset[str]:
    """The words of the code but its docstrings and comments; of tests, benchmarks and scenarios all; names of files."""
    found: set[str] = set()
    told = {text for _, text in docstrings()}
    for tree in trees().values():
        for node in ast.walk(tree):
            match node:
                case ast.Constant(value=str(text)) if text not in told:
                    found.update(re.findall(r"--[a-z][a-z-]+|\w+", text))
                case ast.Name(id=name) | ast.Attribute(attr=name) | ast.alias(name=name) | ast.keyword(arg=str(name)):
                    found.update(name.split("."))
                case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.arg(arg=name):
                    found.add(name)
    for path in files():
        place = path.relative_to(ROOT)
        found.update(re.findall(r"\w+", place.as_posix()))
        whole = path.suffix in (".py", ".toml", ".flp", ".js") and place.parts[0] in WHOLE
        if whole and path not in trees() and path != Path(__file__):
            found.update(re.findall(r"--[a-z][a-z-]+|\w+", path.read_text(encoding="utf-8")))
    return frozenset(found)


@cache
def paths() -> str:
    """The paths of all files and folders, each between two line ends."""
    folders = {f"{parent.as_posix()}/" for path in files() for parent in path.relative_to(ROOT).parents}
    return "\n".join(["", *(path.relative_to(ROOT).as_posix() for path in files()), *folders, ""])


@cache
def modules() -> tuple[frozenset[str], frozenset[str]]:
    """Names of the folders of the code that are no keys or variables, too; and names of its modules."""
    own = [path.relative_to(ROOT).parts for path in trees()]
    folders = frozenset(part for each in own for part in each[:-1])
    return folders - {"output", "hotspots", "impedance"}, frozenset(each[-1].removesuffix(".py") for each in own)


def is_module(name: str) -> bool:
    """Whether a name with dots begins with a folder of the code and ends in a module, and is no public function."""
    first, *_, last = parts = name.split(".")
    folders, stems = modules()
    return first in folders and last in stems and not (first == "heatsim" and len(parts) == 2)


def is_there(name: str) -> bool:
    if OPTION.fullmatch(name):
        return name in words() or name.replace("--no-", "--") in words()
    if PATH.fullmatch(name) and name.endswith(ENDINGS):
        name = name.partition("NAME")[0]
        return f"/{name}\n" in paths() or f"\n{name}\n" in paths()
    if PATH.fullmatch(name) and name.endswith("/"):
        return set(re.findall(r"[\w-]+", name)) <= words() | OTHERS
    if MODULE.fullmatch(name) and is_module(name):
        stem = name.replace(".", "/")
        return any(f"{before}{stem}{after}" in paths() for before in "/\n" for after in (".py\n", "/\n"))
    if DOTTED.fullmatch(name):
        return set(name.removesuffix("()").split(".")) <= words() | OTHERS
    return True


def missing(path: Path, text: str) -> list[str]:
    text = re.sub(r"(?s)^ *```.*?^ *```", "", text, flags=re.MULTILINE)
    names = dict.fromkeys(re.findall(r"(?<!`)`([^`\s]+)`(?!`)", text))
    return [f"{path.relative_to(ROOT)}: {name}" for name in names if not is_there(name)]


def test_every_name_in_backticks_of_a_document_exists() -> None:
    documents = [*ROOT.glob("docs/**/*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    assert [each for path in documents for each in missing(path, path.read_text(encoding="utf-8"))] == []


def test_every_name_in_backticks_of_a_docstring_exists() -> None:
    assert [each for path, text in docstrings() for each in missing(path, text)] == []
