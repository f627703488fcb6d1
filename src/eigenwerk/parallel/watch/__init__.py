"""How the ranks of a run end."""
