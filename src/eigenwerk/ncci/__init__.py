"""Protons and neutrons in light nuclei: configuration interaction in an oscillator basis; MeV and fm."""
