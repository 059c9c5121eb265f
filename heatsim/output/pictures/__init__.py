"""Pictures of runs, scenarios and arrays, drawn without a display and safe to draw on any thread.

The only code that draws. `options` and `curve` load nothing heavy; all else loads Matplotlib.
"""

from importlib import import_module


def import_drawing() -> None:
    """Import what draws slices, while there is time; for processes in which nobody reads docstrings of Matplotlib.

    Matplotlib writes lists of properties into the docstrings of its artists, which takes a third of its import.
    """
    import matplotlib.artist

    matplotlib.artist.kwdoc = lambda artist: ""
    import_module("heatsim.output.pictures.slices")
