"""Pictures of results, and reports of runs."""
