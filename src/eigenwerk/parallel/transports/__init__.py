"""How ranks exchange arrays."""
