"""Exact exchange between the orbitals."""
