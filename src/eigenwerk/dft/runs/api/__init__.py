"""Calculations from Python: `dft.run`."""
