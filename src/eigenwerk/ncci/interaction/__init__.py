"""Interactions between nucleons, and observables, as two-body matrix elements."""
