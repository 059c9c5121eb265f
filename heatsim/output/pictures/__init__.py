"""What pictures of a run, or of a scenario, show: from files and problems to what `plots` draws."""
