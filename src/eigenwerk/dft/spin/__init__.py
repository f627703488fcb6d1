"""What spin makes of orbitals and densities."""
