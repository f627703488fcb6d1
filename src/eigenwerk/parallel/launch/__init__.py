"""How the ranks of a run start."""
