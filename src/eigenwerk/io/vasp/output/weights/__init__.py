"""Weights of orbitals on atoms, PROCAR."""
