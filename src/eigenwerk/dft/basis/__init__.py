"""Plane waves, grids, and the ways between them."""
