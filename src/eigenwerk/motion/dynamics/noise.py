"""Random numbers that depend on seed, step and purpose alone."""

import hashlib

import numpy as np

VELOCITIES, ATOMS, CELL = range(3)
"""Purposes: velocities at the start, the bath of the atoms, the bath of the cell."""


class Noise:
    """A counter-based generator (Philox; Salmon et al., SC11, 2011): nothing is drawn in sequence.

    So a run that goes on after a stop has the numbers that it would have had, and every rank has the same.
    """

    def __init__(self, key: np.ndarray) -> None:
        self.key = np.asarray(key, np.uint64)

    @classmethod
    def seeded(cls, seed: tuple[int, ...], scaled_ac: np.ndarray) -> "Noise":
        """From a seed and the positions at the start: a run that continues another from its last positions, with the
        same seed, must not meet the same noise again (it would pull the second trajectory towards the first)."""
        text = ",".join(map(str, seed)).encode() + b";" + np.round(scaled_ac * 1e8).astype("<i8").tobytes()
        return cls(np.frombuffer(hashlib.sha256(text).digest()[:16], "<u8"))

    def generator(self, step: int, purpose: int) -> np.random.Generator:
        """For one purpose at one step."""
        counter = np.array([0, 0, purpose, step], np.uint64)
        return np.random.Generator(np.random.Philox(key=self.key, counter=counter))

    def normal(self, step: int, purpose: int, shape: tuple[int, ...]) -> np.ndarray:
        """Independent normal numbers of variance 1."""
        return self.generator(step, purpose).standard_normal(shape)
