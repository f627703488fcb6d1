"""A folder becomes a calculation."""
