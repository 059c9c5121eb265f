"""What several test folders share: scenario texts, runs in memory, kernel cases, the choice of combinations."""
