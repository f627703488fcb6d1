"""Dispersion corrections: energies of pairs and triples of atoms that depend on their positions alone (numpy only)."""
