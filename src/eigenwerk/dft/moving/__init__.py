"""Self-consistency of atoms that move: the state follows them."""
