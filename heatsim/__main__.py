"""`python -m heatsim` is the command `heatsim`."""

from heatsim.cli import main

main(prog_name="heatsim")
