"""The laboratory: reads the records of runs, never an engine (but for the numpy of band gaps)."""
