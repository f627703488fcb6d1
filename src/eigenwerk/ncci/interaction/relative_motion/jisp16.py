"""The nucleon-nucleon interaction JISP16 from its own parameters, 165 oscillator matrix elements at hw = 40 MeV.

Source: A. M. Shirokov, J. P. Vary, A. I. Mazur and T. A. Weber, Phys. Lett. B 644, 33 (2007).  It is the same for pp,
nn and pn pairs, and vanishes for J > 4.  The table jisp16.json names where the numbers come from.
"""

import json
from functools import lru_cache
from pathlib import Path

import numpy as np

from eigenwerk.ncci.interaction.relative_motion.relative import Relative, Wave


@lru_cache(maxsize=1)
def jisp16() -> Relative:
    """JISP16 in its native oscillator basis; `Relative.at` and `couple` bring it to any hw."""
    table = json.loads(Path(__file__).with_name("jisp16.json").read_text(encoding="utf-8"))
    waves: dict[Wave, list[tuple[int, int, float]]] = {}
    for j, s, l, lp, n, n_new, value in table["elements"]:
        waves.setdefault((j, s, l, lp), []).append((n, n_new, value))
    return Relative(table["hw"], {wave: _matrix(wave, found) for wave, found in waves.items()}, table["nucleon_mass"])


def _matrix(wave: Wave, found: list[tuple[int, int, float]]) -> np.ndarray:
    size = 1 + max(max(n, n_new) for n, n_new, _ in found)
    matrix = np.zeros((size, size))
    for n, n_new, value in found:
        matrix[n, n_new] = value
        if wave[2] == wave[3]:
            matrix[n_new, n] = value
    return matrix
