"""Paths between two minima: a band of images, each a calculation of its own."""
