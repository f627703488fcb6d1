"""Fields of the density: from orbitals, of atoms, and what symmetry makes of them."""
