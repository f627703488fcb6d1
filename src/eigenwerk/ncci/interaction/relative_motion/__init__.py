"""Two nucleons in their relative motion."""
