"""Devices, ranks and collectives."""
