"""Atoms that move, in words: what is about to move, a table of ionic steps, what was found."""
