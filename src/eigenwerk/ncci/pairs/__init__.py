"""The Hamiltonian as dense products over pairs."""
