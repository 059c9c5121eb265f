"""Exact solutions of heat conduction, one subject a file, as functions of plain numbers and arrays in SI units.

C&J is H. S. Carslaw and J. C. Jaeger, Conduction of Heat in Solids, 2nd edition, Oxford 1959. Incropera is F. P.
Incropera and D. P. DeWitt, Fundamentals of Heat and Mass Transfer.
"""

# The two books, as the problems name their sources.
CARSLAW_JAEGER = "Carslaw and Jaeger 1959"
INCROPERA = "Incropera and DeWitt, Fundamentals of Heat and Mass Transfer"
