from __future__ import annotations

import tomllib
from typing import Any

import pytest
import tomli_w
from helpers.in_turn import in_turn
from hypothesis import given, settings
from hypothesis import strategies as st

from heatsim.scenario.language.toml.positions import ScanError, scan, split_key

TRICKY = '''\
# comment with [brackets] and = signs
title = "a # b" # c
"quoted key" . 'x.y'.z = 1
text = """
[not.a.table]
key = 2 \\""" more"""""
raw = \'\'\'
'' [[nor.this]]\'\'\'
[grid] # here
size = [ 1, # one
  [2, 3], { lower = [4], "up\\u0070er" = { a.b = 5 } },
]
[ a . "b c" ]
when = 1979-05-27 07:32:00
[[a."b c".items]]
x = 1
[[a."b c".items]]
[a."b c".items.inner]
y = 2
[[a."b c".items.deep]]
[empty]
'''

PLACES = {
    (): (1, 1),
    ("title",): (2, 1),
    ("quoted key",): (3, 1),
    ("quoted key", "x.y"): (3, 16),
    ("quoted key", "x.y", "z"): (3, 22),
    ("text",): (4, 1),
    ("raw",): (7, 1),
    ("grid",): (9, 2),
    ("grid", "size"): (10, 1),
    ("grid", "size", 0): (10, 10),
    ("grid", "size", 1): (11, 3),
    ("grid", "size", 1, 0): (11, 4),
    ("grid", "size", 1, 1): (11, 7),
    ("grid", "size", 2): (11, 11),
    ("grid", "size", 2, "lower"): (11, 13),
    ("grid", "size", 2, "lower", 0): (11, 22),
    ("grid", "size", 2, "upper"): (11, 26),
    ("grid", "size", 2, "upper", "a"): (11, 43),
    ("grid", "size", 2, "upper", "a", "b"): (11, 45),
    ("a",): (13, 3),
    ("a", "b c"): (13, 7),
    ("a", "b c", "when"): (14, 1),
    ("a", "b c", "items"): (15, 11),
    ("a", "b c", "items", 0): (15, 11),
    ("a", "b c", "items", 0, "x"): (16, 1),
    ("a", "b c", "items", 1): (17, 11),
    ("a", "b c", "items", 1, "inner"): (18, 16),
    ("a", "b c", "items", 1, "inner", "y"): (19, 1),
    ("a", "b c", "items", 1, "deep"): (20, 17),
    ("a", "b c", "items", 1, "deep", 0): (20, 17),
    ("empty",): (21, 2),
}

scalars = st.one_of(
    st.integers(-(2**63), 2**63 - 1),
    st.floats(),
    st.booleans(),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r")),
    st.datetimes(),
    st.dates(),
    st.times(),
)
keys = st.one_of(st.from_regex(r"\A[a-z0-9_-]{1,3}\Z"), st.text(st.characters(exclude_categories=["Cs"])))
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=20,
)
documents = st.dictionaries(keys, values, max_size=6)


def paths(node: Any, path: tuple[str | int, ...] = ()) -> set[tuple[str | int, ...]]:
    children = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    return {path}.union(*(paths(child, (*path, key)) for key, child in children))


@settings(max_examples=150)
@given(documents, st.booleans())
def test_the_scanner_finds_every_key_that_tomllib_finds(document: dict[str, Any], multiline: bool) -> None:
    text = tomli_w.dumps(document, multiline_strings=multiline)
    places = scan(text)
    assert set(places) == paths(tomllib.loads(text))
    lines = text.split("\n")
    for path, (line, column) in places.items():
        rest = lines[line - 1][column - 1 :]
        if path and isinstance(path[-1], str):
            assert rest.startswith(path[-1] or '"') or rest[0] == '"'


@settings(max_examples=300)
@given(st.text(st.sampled_from("a.=[]{}\"'\n#, 1\\-")))
def test_text_that_is_not_toml_never_upsets_the_scanner(text: str) -> None:
    places = scan(text)
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        assert places[()] == (1, 1)
    else:
        assert set(places) == paths(document)


def test_every_form_of_key_has_its_line_and_column() -> None:
    assert set(PLACES) == paths(tomllib.loads(TRICKY))
    assert scan(TRICKY) == PLACES


@in_turn(
    ("text", "place"),
    [
        ("a = 1\nb = " + "[" * 5000 + "]" * 5000, (2, 37)),
        ("b = " + "{a=" * 5000 + "1" + "}" * 5000, (1, 99)),
        ("a." * 5000 + "a = 1", (1, 65)),
        ("[" + "a." * 5000 + "a]", (1, 66)),
    ],
)
def test_nesting_without_end_is_refused_at_its_place(text: str, place: tuple[int, int]) -> None:
    with pytest.raises(ScanError, match="nested more than 32 deep") as refusal:
        scan(text)
    assert refusal.value.place == place


def test_a_key_is_split_into_its_parts_as_toml_has_it() -> None:
    assert split_key("a.b_1 . \"c.d\".'e f'") == ["a", "b_1", "c.d", "e f"]
    assert [split_key(text) for text in ("", "a..b", "a b", "a.", '"a')] == [None] * 5
