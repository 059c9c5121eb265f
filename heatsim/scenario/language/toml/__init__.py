"""Toml."""
