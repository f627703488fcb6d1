"""Runs of calculations, from a folder to files: one, with atoms that move, along paths, in series."""
