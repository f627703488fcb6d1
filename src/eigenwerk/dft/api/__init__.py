"""Calculations from Python: structures of other packages, settings as keywords, results with units in their names."""
