"""HDF5, read in a process of its own: whole states, and trajectories."""
