"""Atoms that move on an energy surface: relaxation, dynamics, vibrations.  Numpy alone; eV, Å, fs, amu."""
