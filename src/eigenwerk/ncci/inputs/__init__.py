"""From a case file to a case, and what `check` says of it."""
