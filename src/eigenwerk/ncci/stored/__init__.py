"""The Hamiltonian as stored nonzeros."""
