"""The commands of `heatsim`, one a file. What is heavy is imported when a command runs, so that help is quick."""
