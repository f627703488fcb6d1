"""The crystal: lattice, atoms, symmetry, k-points."""
