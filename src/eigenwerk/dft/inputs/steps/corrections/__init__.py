"""Corrections that are added to the energy: dispersion, +U, and what the dipole of a cell wants."""
