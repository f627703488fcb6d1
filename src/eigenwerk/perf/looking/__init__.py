"""Pictures of results and reports of runs, from the files that runs leave."""
