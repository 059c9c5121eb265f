"""Matplotlib without the docstrings that it writes itself, which take a third of the time of its import."""

from __future__ import annotations

import matplotlib.artist


def leave_out() -> None:
    """Leave out the lists of properties in the docstrings of artists that are imported from now on; for processes in
    which nobody reads them."""
    matplotlib.artist.kwdoc = lambda artist: ""
