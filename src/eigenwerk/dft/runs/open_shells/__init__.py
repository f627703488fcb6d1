"""Molecules and atoms whose open shells have several states."""
