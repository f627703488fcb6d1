"""What a term of the energy is, and one file for each."""
