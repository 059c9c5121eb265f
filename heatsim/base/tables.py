"""Tables of results: on the terminal, in Markdown, and in a section of a document between two markers."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from heatsim.base.atomic import write_atomically
from heatsim.errors import RequestError

Row = dict[str, Any]
Tell = Callable[[str], None]  # shows a line of progress


class TableColumn(NamedTuple):
    """A column: its title, and the function that gives the text of a row, "" if the row has no such value."""

    title: str
    show: Callable[[Row], str]


def number(key: str, form: str, unit: float = 1.0) -> Callable[[Row], str]:
    """Show `row[key] / unit` in a format such as ".2f", or "" if the row has no such value."""

    def show(row: Row) -> str:
        value = row.get(key)
        return "" if value is None else format(value / unit, form)

    return show


def number_columns(form: str, keys: dict[str, str]) -> list[TableColumn]:
    """Columns of plain numbers in one format; keys: of a row, by title."""
    return [TableColumn(title, number(key, form)) for title, key in keys.items()]


def ratio_columns(keys: dict[str, str]) -> list[TableColumn]:
    """Columns of ratios; "-" in rows that have a "doubt". keys: of a row, by title."""

    def show(key: str, row: Row) -> str:
        return "-" if key in row and row.get("doubt") else number(key, ".2f")(row)

    return [TableColumn(title, partial(show, key)) for title, key in keys.items()]


def digits(key: str, unit: float) -> Callable[[Row], str]:
    """Show `row[key] / unit` with at least three significant digits and no exponent, or ""."""

    def show(row: Row) -> str:
        value = row.get(key)
        if value is None:
            return ""
        return f"{value / unit:.0f}" if value / unit >= 1000 else f"{value / unit:.3g}"

    return show


def filled(columns: Sequence[TableColumn], rows: Sequence[Row]) -> list[TableColumn]:
    """The columns that are not empty in every row."""
    return [column for column in columns if any(column.show(row) for row in rows)]


def print_table(columns: Sequence[TableColumn], rows: Sequence[Row], group: Callable[[Row], Any]) -> None:
    """Print a table to stdout, with a line between groups of rows; a row that has "failed" is red."""
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
    """A table in Markdown, with the columns that `print_table` shows."""
    shown = filled(columns, rows)
    lines = [[column.title for column in shown], ["---"] * len(shown)]
    lines += [[column.show(row) for column in shown] for row in rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def write_section(path: Path, benchmark: str, device: str, body: str) -> None:
    """Write the section of a benchmark on a device into a document, and replace an earlier one of both names.

    A new section goes after the last one of the same benchmark, or to the end of the document. Raises OSError.
    """
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    device = device.replace("--", "-")  # not allowed in an HTML comment
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


def check_folders(paths: Iterable[Path | None]) -> None:
    """Raise `RequestError` for a file in a folder that does not exist."""
    for path in paths:
        if path is not None and not path.parent.is_dir():
            raise RequestError(f"{path}: there is no folder {path.parent}{os.sep} to write into")
