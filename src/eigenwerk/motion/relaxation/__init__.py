"""Atoms and cells brought to rest: a preconditioned quasi-Newton method, RMM-DIIS, damped motion."""
