"""Atoms that move on the energy surface of calculations."""
