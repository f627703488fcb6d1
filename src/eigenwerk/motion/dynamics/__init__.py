"""Molecular dynamics: how atoms, and the cell, move in time, and the baths that hold temperature and pressure."""
