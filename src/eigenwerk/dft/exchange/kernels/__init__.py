"""Loops over points for pairs: plain, compiled, on a GPU."""
