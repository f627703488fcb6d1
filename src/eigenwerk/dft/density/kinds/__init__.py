"""The fields of a density, one file each."""
