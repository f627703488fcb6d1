"""Band energies and what is made of them: occupations, gaps, densities of states."""
