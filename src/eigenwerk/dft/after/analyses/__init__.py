"""What is computed from a finished state, one file each: a file with an `ANALYSIS` is enough."""
