"""H and S of all orbitals."""
