"""PAW data sets: what a set is, files that hold one, and which file serves an element."""
