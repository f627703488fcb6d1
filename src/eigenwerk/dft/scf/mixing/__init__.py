"""The next input density."""
