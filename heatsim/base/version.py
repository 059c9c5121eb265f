"""The version of heatsim."""

__version__ = "0.1.0"
