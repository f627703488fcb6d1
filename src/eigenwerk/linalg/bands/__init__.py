"""Eigensolvers for bands: many vectors of many problems at once."""
