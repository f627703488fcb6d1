"""Seconds of a dispersion correction, once for each arrangement of the atoms (no torch here)."""

from eigenwerk.dft.crystal.structure import Structure
from eigenwerk.dft.dispersion.correction import D2, DispersionCorrection
from eigenwerk.dft.dispersion.libraries import PAIRS, PARTS, THREE_BODIES
from eigenwerk.dft.dispersion.pairwise import mean_neighbours

PAIR_OF_D2, PAIR, TRIPLE = 3.6e-7, 6e-8, 8e-8
"""Of a thread: seconds for an atom and one neighbour, by numpy and by the libraries, and for an atom and the square of
its neighbours within the radius of triples (silicon, graphite, copper, a molecule; an Intel Xeon of 2.1 GHz)."""


def correction_cost(correction: DispersionCorrection, structure: Structure) -> tuple[float, int]:
    """Seconds of one thread, and threads that can take part."""
    atoms = len(structure.symbols)
    pairs = atoms * mean_neighbours(structure, correction.radius or PAIRS)
    if correction.method == D2:
        return PAIR_OF_D2 * pairs, 1
    if not correction.parameters["s9"]:
        return PAIR * pairs, 1
    return PAIR * pairs + TRIPLE * atoms * mean_neighbours(structure, THREE_BODIES) ** 2, PARTS
