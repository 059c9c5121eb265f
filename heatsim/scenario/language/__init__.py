"""The language of scenario files: TOML with positions, units, expressions, CSV columns, types of values."""
