"""What the house counts: `python house_counts.py [ROOT]` from tests/."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import test_imports

FACE_SETS = re.compile(
    r"^class (AmbientFaces|AmbientFacePairs|LedgerFaces|OpenFaces|AmbientFaceArrays|BoundaryCoupling|TangentFaces"
    r"|FaceResistances|FacePatch|_Faces|_Pairs|CellPairs|FaceSet)\b",
    re.MULTILINE,
)


def counts(root: Path) -> Iterator[tuple[str, int]]:
    """Names of counts, and what they are in a checkout."""
    test_imports.TREES = {"heatsim_kernels": root / "kernels" / "heatsim_kernels", "heatsim": root / "heatsim"}
    paths = test_imports.modules()
    texts = {module: path.read_text(encoding="utf-8") for module, path in paths.items()}
    yield "lines of heatsim and kernels", sum(text.count("\n") for text in texts.values())
    yield "modules, beside __init__", sum(path.name != "__init__.py" for path in paths.values())
    folders = {module for module, path in paths.items() if path.name == "__init__.py" and module.count(".") == 2}
    yield "rooms that are folders", len(folders)
    arrows = {
        (_folder(module, folders), _folder(other, folders))
        for module, others in test_imports.graph().items()
        for other in others
    }
    yield "arrows between floors and folders", sum(one != other for one, other in arrows)
    bad = (test_imports.violations(text, module, paths[module].name == "__init__.py") for module, text in texts.items())
    yield "arrows up", sum(map(len, bad))
    yield "types of sets of faces", sum(len(FACE_SETS.findall(text)) for text in texts.values())
    yield (
        '"class_ids is None", or not',
        sum(len(re.findall(r"class_ids is (?:not )?None", text)) for text in texts.values()),
    )
    yield "functions of over 8 parameters", sum(_long_signatures(text) for text in texts.values())
    documents = [*root.glob("docs/**/*.md"), root / "README.md", root / "CHANGELOG.md", root / "CONTRIBUTING.md"]
    yield "words of documents", sum(len(path.read_text(encoding="utf-8").split()) for path in documents)


def _folder(module: str, folders: set[str]) -> str:
    room = test_imports.room_of(module)
    return room if room in folders else ".".join(room.split(".")[:2])


def _long_signatures(text: str) -> int:
    functions = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef))
    return sum(len(node.args.args) + len(node.args.kwonlyargs) > 8 for node in functions)


if __name__ == "__main__":
    for name, number in counts(Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parents[1]).resolve()):
        print(f"{name:36} {number:7,}")
