"""What a run writes and goes on from."""
