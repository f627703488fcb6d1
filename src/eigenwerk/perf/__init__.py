"""The laboratory: reads the records of runs, never an engine."""
