"""Ladder."""
