"""From a state to the numbers that files hold and callers get."""
