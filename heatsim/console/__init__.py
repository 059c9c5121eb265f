"""What the command line shows: progress, summaries, estimates."""
