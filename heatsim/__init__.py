"""heatsim."""
