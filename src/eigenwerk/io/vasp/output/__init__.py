"""What a finished run writes."""
