"""A run from a scenario to its folder: prepared, estimated, taken through time, resumed, opened."""
