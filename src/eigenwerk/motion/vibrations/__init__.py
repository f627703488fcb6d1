"""Vibrations and elastic constants from finite displacements and strains.  Equations: docs/equations/vibrations.md."""
