"""What a calculation costs, before it runs."""
