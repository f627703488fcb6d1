"""How much memory there is, what ranks of a machine have in common in it, and blocks that fit."""
