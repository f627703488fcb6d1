"""States of H: operators, start vectors, solvers, and the way of a solver on the disk."""
