"""Cuda."""
