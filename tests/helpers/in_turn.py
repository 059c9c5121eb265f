"""Cases of one claim, tried one after the other in one test: each item of pytest's takes time of its own."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest


def in_turn(
    names: str | Sequence[str], values: Iterable[Any], ids: Iterable[str] | Callable[[Any], Any] | None = None
) -> Any:
    """Like `pytest.mark.parametrize`, with all cases in one item.

    The first case that fails ends the test, and a note tells which it was. Each case has a `tmp_path` and a
    `monkeypatch` of its own; other fixtures are shared by all. The test is skipped if all its cases are.
    """
    keys = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    cases = [case if isinstance(case, type(pytest.param())) else _parameters(case, len(keys)) for case in values]
    assert cases, f"no cases of {keys}"
    labels = [case.id or _label(case.values, ids) for case in cases] if ids is None or callable(ids) else list(ids)
    assert len(labels) == len(cases), f"{len(labels)} names for {len(cases)} cases of {keys}"
    assert not any(case.marks for case in cases), "a case in turn has no marks of its own"

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(function)
        def all_cases(**fixtures: Any) -> None:
            skipped = []
            for number, case in enumerate(cases):
                try:
                    _try(function, dict(zip(keys, case.values, strict=True)), fixtures, number)
                except pytest.skip.Exception as reason:
                    skipped.append(reason)
                except BaseException as error:
                    error.add_note(f"case {number + 1} of {len(cases)}, {', '.join(keys)}: {labels[number]}")
                    raise
            if len(skipped) == len(cases):
                raise skipped[0]

        signature = inspect.signature(function)
        unknown = set(keys) - set(signature.parameters)
        assert not unknown, f"{function.__name__} has no parameters {unknown}"
        left = [parameter for name, parameter in signature.parameters.items() if name not in keys]
        all_cases.__signature__ = signature.replace(parameters=left)  # type: ignore[attr-defined]
        return all_cases

    return decorate


def _parameters(case: Any, count: int) -> Any:
    return pytest.param(case) if count == 1 else pytest.param(*case)


def _label(values: Iterable[Any], name_of: Callable[[Any], Any] | None) -> str:
    return ", ".join(
        str(name_of(value) if name_of else getattr(value, "__name__", repr(value)))[:120] for value in values
    )


def _try(function: Callable[..., None], values: dict[str, Any], fixtures: dict[str, Any], number: int) -> None:
    own = dict(fixtures)
    if "tmp_path" in own:
        own["tmp_path"] = own["tmp_path"] / f"case{number}"
        own["tmp_path"].mkdir()
    if "monkeypatch" not in own:
        function(**own, **values)
        return
    with own["monkeypatch"].context() as own["monkeypatch"]:
        function(**own, **values)
