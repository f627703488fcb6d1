"""`check` and `plan`: what a folder means and costs, before anything is computed."""
