"""Sources compiled at run time."""
