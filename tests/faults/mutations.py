"""Texts that are mutated by lines, numbers, names, units and brackets, as slips of the hand and of the mind do it."""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Callable, Sequence

NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
NAME = re.compile(r"[A-Za-z_]\w*")
ENTRY = re.compile(r"^(\s*[\w.]+\s*=)\s*(.+)$")
BRACKETS = "[]{}()\"',;:=#."
EXTREMES = [
    "0", "-0.0", "-1", "1", "2", "3", "7", "0.5", "1e-3", "1e3", "1e6", "1e9", "1e15", "1e30", "1e150", "1e308",
    "1e309", "1e400", "1e999999", "1e-9", "1e-30", "1e-300", "5e-324", "1e-400", "inf", "-inf", "nan", "9" * 25,
    "9" * 400, "2147483648", "9223372036854775807", "9223372036854775808", "true", "1_000", "0x10", "1e", "--1", "+1",
    "1,5", "1979-05-27", "07:32:00", "1e5.5", "256", "257", "4097", "65537", "-273.15", "273.15", "293.15", "3000",
]  # fmt: skip
UNITS = [
    "mm", "um", "m", "km", "nm", "s", "h", "d", "year", "K", "degC", "degF", "W", "kW", "W/m2", "W/(m K)", "J/(kg K)",
    "kg/m3", "g/cm3", "1", "m3", "m-9", "km99", "Tm99", "fm-99", "Gyear", "W/(m2 K)", "mol/m3", "(", "m/", "°C", "deg",
]  # fmt: skip
WORDS = [
    "x", "y", "z", "t", "T", "pi", "exp", "sin", "1/0", "exp(exp(t))", "T**9", "sqrt(-x)", "log(0)", "step(x)", "x/0",
    "copper", "steel", "water", "air", "aluminium", "steady", "auto", "euler", "implicit", "rkl2", "periodic", "fixed",
    "../x", "/dev/zero", ".", "..", "", " ", "é", "0", "1e400 mm", "1e308 km", "1e-400 mm", "nan", "None", "a.b", "'",
]  # fmt: skip


class Corpus:
    """What mutants take from other texts: numbers, names, quoted texts, blocks of lines, and values by their keys."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.numbers = sorted({each for text in texts for each in NUMBER.findall(text)})
        self.names = sorted({each for text in texts for each in NAME.findall(text)} | {each for each in WORDS if each})
        self.quoted = sorted({each for text in texts for each in re.findall(r'"([^"\n]*)"', text)} | set(WORDS))
        self.lines = sorted({line for text in texts for line in text.split("\n") if line.strip()})
        blocks = {block for text in texts for block in re.split(r"\n(?=\[)|\n\s*\n", text) if block.startswith("[")}
        self.blocks = sorted(blocks)
        values: dict[str, set[str]] = defaultdict(set)
        for entry in filter(None, (ENTRY.match(line) for line in self.lines)):
            values[entry[1].strip()].add(entry[2])
        self.values = {key: sorted(found) for key, found in values.items()}
        self.any_value = sorted({each for found in values.values() for each in found})


def mutated(text: str, chance: random.Random, corpus: Corpus) -> str:
    """The text with one to four mutations."""
    for _ in range(chance.choice((1, 1, 1, 2, 2, 3, 4))):
        text = chance.choice(_MUTATIONS)(text, chance, corpus)
    return text


def _lines_doubled(text: str, chance: random.Random, corpus: Corpus) -> str:
    lines = text.split("\n")
    place = chance.randrange(len(lines))
    return "\n".join([*lines[: place + 1], *lines[place:]])


def _lines_dropped(text: str, chance: random.Random, corpus: Corpus) -> str:
    lines = text.split("\n")
    place = chance.randrange(len(lines))
    return "\n".join([*lines[:place], *lines[place + chance.choice((1, 1, 2, 5)) :]])


def _lines_swapped(text: str, chance: random.Random, corpus: Corpus) -> str:
    lines = text.split("\n")
    one, other = (chance.randrange(len(lines)) for _ in range(2))
    lines[one], lines[other] = lines[other], lines[one]
    return "\n".join(lines)


def _line_of_another(text: str, chance: random.Random, corpus: Corpus) -> str:
    lines = text.split("\n")
    lines.insert(chance.randrange(len(lines) + 1), chance.choice(corpus.lines))
    return "\n".join(lines)


def _block_of_another(text: str, chance: random.Random, corpus: Corpus) -> str:
    if not corpus.blocks:
        return text
    return f"{text}\n{chance.choice(corpus.blocks)}\n"


def _value_of_another(text: str, chance: random.Random, corpus: Corpus) -> str:
    """The value of a key becomes another of that key, or of any."""
    lines = text.split("\n")
    places = [place for place, line in enumerate(lines) if ENTRY.match(line)]
    if not places:
        return text
    place = chance.choice(places)
    entry = ENTRY.match(lines[place])
    assert entry is not None
    others = corpus.values.get(entry[1].strip(), corpus.any_value) if chance.random() < 0.6 else corpus.any_value
    lines[place] = f"{entry[1]} {chance.choice(others or [entry[2]])}"
    return "\n".join(lines)


def _replaced(pattern: re.Pattern[str], text: str, chance: random.Random, new: Callable[[str], str]) -> str:
    found = [*pattern.finditer(text)]
    if not found:
        return text
    match = chance.choice(found)
    return text[: match.start()] + new(match[0]) + text[match.end() :]


def _exchanged(pattern: re.Pattern[str], text: str, chance: random.Random) -> str:
    found = [*pattern.finditer(text)]
    if len(found) < 2:
        return text
    first, second = sorted(chance.sample(found, 2), key=lambda each: each.start())
    between = text[first.end() : second.start()]
    return text[: first.start()] + second[0] + between + first[0] + text[second.end() :]


def _numbers_exchanged(text: str, chance: random.Random, corpus: Corpus) -> str:
    return _exchanged(NUMBER, text, chance)


def _names_exchanged(text: str, chance: random.Random, corpus: Corpus) -> str:
    return _exchanged(NAME, text, chance)


def _number_of_another(text: str, chance: random.Random, corpus: Corpus) -> str:
    return _replaced(NUMBER, text, chance, lambda old: chance.choice(corpus.numbers))


def _number_to_extreme(text: str, chance: random.Random, corpus: Corpus) -> str:
    return _replaced(NUMBER, text, chance, lambda old: chance.choice(EXTREMES))


def _number_scaled(text: str, chance: random.Random, corpus: Corpus) -> str:
    factor = chance.choice(("e3", "e-3", "e9", "e-9", "e300", "e-300", "e306", "00"))
    return _replaced(NUMBER, text, chance, lambda old: old + factor)


def _unit_added(text: str, chance: random.Random, corpus: Corpus) -> str:
    unit = chance.choice(UNITS)
    quote = '"' if '"' in text else ""
    number = chance.random() < 0.3
    return _replaced(
        NUMBER, text, chance, lambda old: f"{quote}{chance.choice(EXTREMES) if number else old} {unit}{quote}"
    )


def _name_of_another(text: str, chance: random.Random, corpus: Corpus) -> str:
    return _replaced(NAME, text, chance, lambda old: chance.choice(corpus.names))


def _quoted_of_another(text: str, chance: random.Random, corpus: Corpus) -> str:
    return _replaced(re.compile(r'(?<=")[^"\n]*(?=")'), text, chance, lambda old: chance.choice(corpus.quoted))


def _bracket_broken(text: str, chance: random.Random, corpus: Corpus) -> str:
    pattern = re.compile(f"[{re.escape(BRACKETS)}]")
    return _replaced(pattern, text, chance, lambda old: chance.choice(("", old * 2, chance.choice(BRACKETS))))


def _character_changed(text: str, chance: random.Random, corpus: Corpus) -> str:
    place = chance.randrange(len(text) + 1)
    new = chr(chance.randrange(1, 0x250)) if chance.random() < 0.5 else chance.choice("0123456789eE-+. \t\n" + BRACKETS)
    return text[:place] + new + text[place + chance.randrange(2) :]


def _end_cut(text: str, chance: random.Random, corpus: Corpus) -> str:
    return text[: chance.randrange(len(text) + 1)] if chance.random() < 0.2 else text.rstrip("\n")


_MUTATIONS = (
    _lines_doubled,
    _lines_dropped,
    _lines_dropped,
    _lines_swapped,
    _line_of_another,
    _block_of_another,
    _value_of_another,
    _value_of_another,
    _numbers_exchanged,
    _names_exchanged,
    _number_of_another,
    _number_to_extreme,
    _number_to_extreme,
    _number_scaled,
    _unit_added,
    _name_of_another,
    _quoted_of_another,
    _bracket_broken,
    _character_changed,
    _end_cut,
)
