"""Scenarios from the files of other programs."""
