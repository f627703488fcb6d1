"""Products of nuclei on several ranks: what their four steps cost, beside other schemes, and what a model expects."""
