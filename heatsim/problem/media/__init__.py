"""The media that cells are made of: materials and their curves, zones, cell classes, tables over temperature."""
