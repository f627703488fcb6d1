"""Derivatives of the free energy: forces and stress, and their errors."""
