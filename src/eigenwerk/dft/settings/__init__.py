"""The values that a calculation is told."""
