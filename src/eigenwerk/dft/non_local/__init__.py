"""Non-local correlation of van der Waals functionals: kernels, their table, energies and potentials of densities."""
