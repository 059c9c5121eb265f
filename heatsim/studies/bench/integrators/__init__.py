"""`heatsim bench integrators`: how long each integrator takes to which accuracy."""
