"""Pairs of orbitals: their densities, potentials, and points of the mesh."""
