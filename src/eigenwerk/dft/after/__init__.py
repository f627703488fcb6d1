"""What follows from a converged state."""
