"""What a run leaves behind: recorders, pictures, the viewer's page, hot spots."""
