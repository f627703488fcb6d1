"""The door: one file per sub-command."""
