"""What objects show of themselves: a short table, as text of at most ten lines, and as HTML in a notebook."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from html import escape

MAX_LINES = 10
MAX_WIDTH = 100  # of a line


class Shown:
    """An object that shows its `facts`, a title and values by name, and a picture (PNG) where there is one."""

    def facts(self) -> tuple[str, Mapping[str, str]]:
        """The title, and the values."""
        raise NotImplementedError

    def picture(self) -> bytes | None:
        """A picture for notebooks."""
        return None

    def __repr__(self) -> str:
        return as_text(*self.facts())

    def _repr_html_(self) -> str:
        return as_html(*self.facts(), self.picture())


def as_text(title: str, values: Mapping[str, str]) -> str:
    """A line for the title, and one a value."""
    width = max(map(len, values), default=0)
    lines = [title, *(f"  {name.ljust(width)}  {value}" for name, value in values.items())]
    if len(lines) > MAX_LINES:
        lines = [*lines[: MAX_LINES - 1], f"  and {len(lines) - MAX_LINES + 1} more"]
    return "\n".join(line if len(line) <= MAX_WIDTH else f"{line[: MAX_WIDTH - 1]}…" for line in lines)


def as_html(title: str, values: Mapping[str, str], picture: bytes | None = None) -> str:
    """A table of two columns with its title, above the picture."""
    rows = "".join(
        f'<tr><th style="text-align: left">{escape(name)}</th><td style="text-align: left">{escape(value)}</td></tr>'
        for name, value in values.items()
    )
    data = "" if picture is None else b64encode(picture).decode()
    shown = f'<img style="max-width: 100%" src="data:image/png;base64,{data}">' if data else ""
    return f"<div><strong>{escape(title)}</strong><table>{rows}</table>{shown}</div>"
