"""Solvers that know neither physics nor machine."""
