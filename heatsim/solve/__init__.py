"""What advances a problem in time: the state, the ledger, integrators, and one run over several processes."""
