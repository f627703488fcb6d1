"""Stages around the cycle: exchange, lost moments, the goal of forces, ghosts."""
