"""Bands of images (IMAGES)."""
