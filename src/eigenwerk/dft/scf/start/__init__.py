"""What a calculation takes over from earlier states."""
