"""What is made of many runs, and of files of other programs."""
