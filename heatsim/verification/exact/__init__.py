"""Exact solutions of heat conduction, one subject a file, as functions of plain numbers and arrays in SI units.

C&J is H. S. Carslaw and J. C. Jaeger, Conduction of Heat in Solids, 2nd edition, Oxford 1959.
"""
