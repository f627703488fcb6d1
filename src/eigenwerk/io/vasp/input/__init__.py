"""The input files of a folder, as plain values with the lines they came from."""
