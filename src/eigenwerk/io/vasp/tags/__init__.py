"""The one table of tags."""
