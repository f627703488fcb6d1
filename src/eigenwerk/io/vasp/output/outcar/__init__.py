"""OUTCAR, in the places and phrases of VASP's."""
