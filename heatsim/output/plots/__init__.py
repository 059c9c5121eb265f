"""Pictures of arrays, drawn without a display and safe to draw on any thread."""
