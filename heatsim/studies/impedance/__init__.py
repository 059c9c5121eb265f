"""Thermal impedance: what a step of power of each source warms, over time, and networks that do the same.

`responses` finds it; `networks` fits Foster and Cauer networks; `files` keeps what was found.
"""
