"""Several calculations of one folder."""
