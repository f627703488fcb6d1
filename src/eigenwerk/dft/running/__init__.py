"""One calculation from folder to files."""
