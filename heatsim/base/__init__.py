"""What all floors stand on: tables on the terminal, grid, words of a quantity, files that are whole or not there."""
