"""What a benchmark found, as a table on the terminal, a JSON file, and a section of a Markdown document."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from heatsim.store.atomic import write_atomically

Row = dict[str, Any]


class TableColumn(NamedTuple):
    """A column: its title, and the text that stands for a row, empty where there is nothing to tell."""

    title: str
    show: Callable[[Row], str]


def number(key: str, form: str, unit: float = 1.0) -> Callable[[Row], str]:
    """Show `row[key] / unit` in a format such as ".2f", or nothing where the row has no such value."""

    def show(row: Row) -> str:
        value = row.get(key)
        return "" if value is None else format(value / unit, form)

    return show


def digits(key: str, unit: float) -> Callable[[Row], str]:
    """Show `row[key] / unit` with three significant digits at least and no exponent, or nothing."""

    def show(row: Row) -> str:
        value = row.get(key)
        if value is None:
            return ""
        return f"{value / unit:.0f}" if value / unit >= 1000 else f"{value / unit:.3g}"

    return show


def blocks(row: Row) -> str:
    """Blocks that a multiprocessor holds at once, and the share of its threads that they fill."""
    if "blocks_a_multiprocessor" not in row:
        return ""
    return f"{row['blocks_a_multiprocessor']} ({100 * row['occupancy']:.0f} %)"


def filled(columns: Sequence[TableColumn], rows: Sequence[Row]) -> list[TableColumn]:
    """The columns that have something to tell of some row."""
    return [column for column in columns if any(column.show(row) for row in rows)]


def print_table(columns: Sequence[TableColumn], rows: Sequence[Row], group: Callable[[Row], Any]) -> None:
    """Print to stdout, with a line between rows of different groups."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    shown = filled(columns, rows)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in shown:
        textual = not any(column.show(row)[:1].isdigit() for row in rows)
        table.add_column(column.title, justify="left" if textual else "right", no_wrap=textual)
    for _, members in groupby(rows, key=group):
        for row in members:
            table.add_row(*(column.show(row) for column in shown), style="red" if "failed" in row else None)
        table.add_section()
    Console(width=None if sys.stdout.isatty() else 200, highlight=False).print(table)


def markdown(columns: Sequence[TableColumn], rows: Sequence[Row]) -> str:
    """The same as a Markdown table."""
    shown = filled(columns, rows)
    lines = [[column.title for column in shown], ["---"] * len(shown)]
    lines += [[column.show(row) for column in shown] for row in rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def write_json(path: Path, document: dict[str, Any]) -> None:
    """Write everything that is known of a measurement. Raises OSError."""
    write_atomically(path, (json.dumps(document, indent=2) + "\n").encode())


def circumstances(document: dict[str, Any]) -> str:
    """When, how and on what a benchmark was measured, in a sentence."""
    about = document["machine"]
    versions = ", ".join(f"{name} {number}" for name, number in about["versions"].items())
    parts = [about["date"], f"median and best of {document['rounds']} rounds"]
    if about["device"] == "cuda":
        parts.append(f"driver {about.get('driver', 'none')} (CUDA {about.get('driver_cuda', 'none')})")
    else:
        parts.append(f"{about['threads']} threads on {about['cpu_cores']} cores")
    if about["load_average"] is not None:
        parts.append(f"load average before the start {about['load_average']:.2f}")
    return "; ".join([*parts, versions]) + "."


def write_section(path: Path, benchmark: str, device: str, body: str) -> None:
    """Put the section of a benchmark on a device into a document, in place of an earlier one of the same.

    A new section goes behind the last one of the same benchmark, else to the end. Raises OSError.
    """
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    device = device.replace("--", "-")  # what a comment of HTML must not hold
    begin, end = f"<!-- {benchmark}: {device} -->", f"<!-- end of {benchmark}: {device} -->"
    section = f"{begin}\n{body.strip()}\n{end}"
    before, found, after = text.partition(begin)
    if found:
        after = after.partition(end)[2]
    else:
        cut = text.rfind(f"<!-- end of {benchmark}: ")
        cut = text.index("-->", cut) + len("-->") if cut >= 0 else len(text)
        before, after = text[:cut].rstrip() + "\n\n" * bool(text), text[cut:].lstrip("\n")
        after = f"\n\n{after}" if after else "\n"
    write_atomically(path, (before + section + after).encode())
