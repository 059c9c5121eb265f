"""`python -m heatsim` is the command `heatsim`."""

from heatsim.cli.main import main

main(prog_name="heatsim")
