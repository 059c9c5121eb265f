"""Geometry."""
