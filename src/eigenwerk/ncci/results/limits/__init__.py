"""Several results together: convergence, and limits of many shells."""
