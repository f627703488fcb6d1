"""Interactions that need no file."""

BUILT_IN_NAMES = ("daejeon16", "jisp16", "nnloopt", "minnesota")
"""In small letters; `files.BUILT_IN` makes them."""
