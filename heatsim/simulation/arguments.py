"""What the functions of `heatsim` are given: taken as people write it, or refused in the words of Python."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from math import isnan
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from heatsim.errors import HeatsimError, HeatsimWarning, Issue, RequestError

if TYPE_CHECKING:
    from heatsim.scenario import Scenario
    from heatsim.simulation.run import Run
    from heatsim.store.inputs import Volume

Overrides: TypeAlias = Mapping[str, Any] | Sequence[str]
FilePath: TypeAlias = str | PathLike[str]

# What messages call options of the command line, and what does the same in Python.
_WORDS = (
    (r"--set time\.end=\.\.\.", 'overrides={"time.end": ...}'),
    (r"--set ", "override "),
    (r"--force\b", "force=True"),
    (r"--output\b", "output=..."),
    (r"--trust\b", "heatsim.load(..., trust=True)"),
    (r"--device cpu", 'override "compute.device=cpu"'),
    (r"--phase (\S+)=([\w.]+)", r"{\1: \2}"),
    (r"--from\b", "first=..."),
)


def in_words_of_python(text: str) -> str:
    """A message that speaks of options of the command line, in words of Python."""
    for option, words in _WORDS:
        text = re.sub(option, words, text)
    return text


@contextmanager
def spoken_in_python() -> Iterator[None]:
    """Have errors speak of arguments, and not of options of the command line."""
    try:
        yield
    except HeatsimError as error:
        error.reword(in_words_of_python)
        raise


class Warnings:
    """Takes what a run warns of, tells it by `warnings`, and keeps it for `Run.warnings`."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def __call__(self, issues: Sequence[Issue]) -> None:
        """Tell what is known before the run."""
        for issue in issues:
            self._tell(in_words_of_python(str(issue)))

    def close(self, run: Run) -> Run:
        """Tell what came up in the run; the run, with all its warnings."""
        for warning in run.info["warnings"]:
            self._tell(warning)
        return replace(run, warnings=tuple(self.told))

    def _tell(self, text: str) -> None:
        self.told.append(text)
        frame, level = sys._getframe(0), 1
        while frame.f_back and str(frame.f_globals.get("__name__", "")).partition(".")[0] in ("heatsim", "contextlib"):
            frame, level = frame.f_back, level + 1
        warnings.warn(text, HeatsimWarning, stacklevel=level)


def scenario_of(given: Scenario | FilePath, overrides: Overrides = ()) -> Scenario:
    """A scenario file, or what `heatsim.load` made of one, with more overrides. Raises `HeatsimError` in its kinds."""
    from heatsim.scenario import Scenario, load, load_again

    texts = overrides_of(overrides)
    if isinstance(given, Scenario):
        return load_again(given, texts) if texts else given
    return load(path_of(given, "scenario", "a path, or what heatsim.load gives"), texts)


def path_of(given: Any, name: str, expected: str = "a path") -> Path:
    """A path. Raises `RequestError`."""
    if not isinstance(given, str | PathLike) or isinstance(given, bytes):
        raise RequestError(f"{name}: expected {expected}, found {_kind(given)}")
    return Path(given)


def folder_of(run: Run | FilePath) -> Path:
    """The folder of a run. Raises `RequestError`."""
    from heatsim.simulation.run import Run

    return run.path if isinstance(run, Run) else path_of(run, "run", "a Run, or the path of a run folder")


def overrides_of(given: Overrides) -> list[str]:
    """Overrides as texts "key=value". given: such texts, or a mapping of keys. Raises `RequestError`."""
    from heatsim.scenario.sweep import toml_value

    if isinstance(given, Mapping):
        return [f"{_key(key)}={toml_value(plain_value(key, value))}" for key, value in given.items()]
    return _texts(given, "overrides", '{"time.end": 10} or ["time.end=10"]')


def values_of(given: Overrides, name: str = "parameters") -> dict[str, Any]:
    """Values by name. given: a mapping, or texts "name=value". Raises `RequestError`."""
    import tomllib

    if isinstance(given, Mapping):
        return {_key(key): plain_value(key, value) for key, value in given.items()}
    found = {}
    for text in _texts(given, name, '{"h": 10} or ["h=10"]'):
        key, equals, value = (part.strip() for part in text.partition("="))
        if not equals:
            raise RequestError(f'{name}: expected "name=value", found {text!r}')
        try:
            found[key] = plain_value(key, tomllib.loads(f"value = {value}")["value"])
        except tomllib.TOMLDecodeError:
            found[key] = value
    return found


def names_of(given: Sequence[str] | str, name: str) -> list[str]:
    """Names; a single one may stand without a list around it. Raises `RequestError`."""
    return [given] if isinstance(given, str) else _texts(given, name, '["h", "k"]')


def text_of(given: Any, name: str) -> str:
    """A text. Raises `RequestError`."""
    if not isinstance(given, str):
        raise RequestError(f"{name}: expected a text, found {_kind(given)}")
    return given


def number_of(given: Any, name: str, *, whole: bool = False) -> float:
    """A number, Python's or NumPy's; whole: and a whole one > 0. Raises `RequestError`."""
    value = given.item() if hasattr(given, "item") and getattr(given, "size", 2) == 1 else given
    expected = "a whole number > 0" if whole else "a number"
    if isinstance(value, bool) or not isinstance(value, int if whole else int | float) or (whole and value < 1):
        raise RequestError(f"{name}: expected {expected}, found {_kind(given)}")
    return float(value)


def voxel_of(given: Any) -> tuple[float, float, float]:
    """The edges of a voxel. Raises `RequestError`."""
    edges = given.tolist() if hasattr(given, "tolist") else given
    if not isinstance(edges, list | tuple) or len(edges) != 3:
        raise RequestError(f"voxel: expected its edges along x, y, z, found {_kind(given)}")
    x, y, z = (number_of(each, "voxel") for each in edges)
    if not min(x, y, z) > 0.0:
        raise RequestError(f"voxel: expected edges > 0, found {_kind(given)}")
    return x, y, z


def phases_of(given: Any) -> dict[int, float]:
    """The conductivity of each label. Raises `RequestError`."""
    if not isinstance(given, Mapping) or not given:
        raise RequestError(
            f"phases: expected the conductivity of each label, {{0: 0.03, 1: 200}}, found {_kind(given)}"
        )
    for label in given:
        if isinstance(label, bool) or not hasattr(label, "__index__"):
            raise RequestError(f"phases: expected whole numbers as labels, found {_kind(label)}")
    return {int(label): number_of(value, f"phases: {label}") for label, value in given.items()}


def volume_of(image: Any) -> Volume:
    """An image of labels: a file, a folder, or an array of numbers. Raises `HeatsimError` in its kinds."""
    import numpy as np

    from heatsim.store.inputs import Volume, read_volume

    if isinstance(image, str | PathLike):
        return read_volume(Path(image))
    try:
        values = np.asarray(image)
    except ValueError:
        values = np.empty(0, object)
    if values.dtype.kind not in "buif" or values.ndim == 0:
        raise RequestError(f"image: expected a path, or an array (nz, ny, nx) of labels, found {_kind(image)}")
    return Volume(values)


def callback_of(given: Any) -> Callable[..., Any]:
    """A function to be told of progress; of None one that has nothing to ask. Raises `RequestError`."""
    if given is None:
        return lambda progress: True
    if not callable(given):
        raise RequestError(f"on_progress: expected a function of the progress, found {_kind(given)}")
    return given  # type: ignore[no-any-return]


def plain_value(key: str, value: Any) -> Any:
    """A value as TOML has it: numbers, lists and arrays of NumPy as those of Python. Raises `RequestError`."""
    if hasattr(value, "tolist"):  # of NumPy, and of what follows its ways
        value = value.tolist()
    if isinstance(value, PathLike):
        value = str(value)
    if isinstance(value, Mapping):
        return {_key(each): plain_value(f"{key}.{each}", inner) for each, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain_value(key, each) for each in value]
    if isinstance(value, float) and isnan(value):
        raise RequestError(f"{key}: expected a number, found nan")
    if not isinstance(value, bool | int | float | str):
        raise RequestError(f"{key}: expected a number, a text, True or False, a list or a dict, found {_kind(value)}")
    return value


def _texts(given: Any, name: str, example: str) -> list[str]:
    if isinstance(given, str | bytes) or not isinstance(given, Sequence | set | frozenset):
        raise RequestError(f"{name}: expected {example}, found {_kind(given)}")
    for each in given:
        if not isinstance(each, str):
            raise RequestError(f"{name}: expected {example}, found {_kind(each)} in it")
    return list(given)


def _key(key: Any) -> str:
    if not isinstance(key, str):
        raise RequestError(f"expected a key such as 'time.end', found {_kind(key)}")
    return key


def _kind(value: Any) -> str:
    """What a value is, in a few words."""
    text = repr(value).partition("\n")[0]
    return "None" if value is None else f"{type(value).__name__} {text if len(text) <= 60 else text[:57] + '...'}"
