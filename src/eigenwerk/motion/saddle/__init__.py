"""Saddle points: bands of images between two minima, and dimers that climb from one."""
