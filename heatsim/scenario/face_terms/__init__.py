"""Kinds of heat that passes between cells by another law than conduction, one a file."""
