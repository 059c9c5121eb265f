"""The version of heatsim."""

__version__ = "0.2.0"
