"""The free atom that a data set was made of: its potential, its core orbitals, what these make."""
