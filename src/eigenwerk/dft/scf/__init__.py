"""Self-consistency: density, potential, bands, density."""
