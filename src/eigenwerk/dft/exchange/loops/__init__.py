"""Loops over pairs of orbitals and points of their grid: by PyTorch, compiled for processors, as kernels of GPUs."""
