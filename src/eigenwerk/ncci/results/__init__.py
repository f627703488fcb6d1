"""What is computed of states, and where it is written."""
