"""Atoms: the tables of a data set, and what is inside the spheres."""
