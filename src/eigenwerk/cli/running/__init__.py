"""What `eigenwerk run` says and leaves, from its first line to its exit code."""
