"""Many-body states: which, how many, in which order."""
