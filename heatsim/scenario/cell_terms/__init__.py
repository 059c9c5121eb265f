"""Kinds of exchange of heat inside a body, one a file."""
