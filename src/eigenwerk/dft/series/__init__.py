"""Several calculations of one folder that differ in one thing: volumes, cutoffs, k-points, smearing."""
