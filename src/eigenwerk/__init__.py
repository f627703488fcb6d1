"""eigenwerk: ab initio many-fermion calculations with Python and PyTorch."""

__version__ = "0.1.0"
