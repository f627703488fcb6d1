"""Signs that a step has left the states of atoms: ghosts of the projectors, to which a poor density can lead.

The occupancies of an atom say how much of each state lies in its sphere, √O D √O with O_ij = <φ_i|φ_j> there.  Its
eigenvalues are between nothing and a full state, whatever the bonds; a ghost puts a hundred electrons into one.
Surveyed values of ordinary runs: docs/equations/mixing.md.
"""

from collections.abc import Mapping, Sequence
from itertools import product

import torch

from eigenwerk.dft.density.density import Density
from eigenwerk.dft.paw.atoms import PawAtoms
from eigenwerk.io.paw.dataset import PawDataset
from eigenwerk.units import HARTREE_EV

TOO_MANY, TOO_FEW = 1.5, -0.25
"""Largest and smallest occupancy of a state, in units of a full one."""

TOO_DEEP = 30.0 / HARTREE_EV
"""No band lies so far below the deepest level of the atoms, both counted from the highest filled one."""

TOO_LOW = 30.0 / HARTREE_EV
"""No bond gives so much energy per atom; nor does an electron more or less per electron."""


def state_occupancies(densities: Sequence[Density], atoms: PawAtoms) -> tuple[float, float]:
    """Smallest and largest occupancy of any state of any atom, in units of a full one (one electron per spin)."""
    found = []
    for density, species in product(densities, atoms.layout.species):
        root_ij = atoms.constant(species.setup, "sphere_root_ij").to(density.occupancy_sx.dtype)
        blocks_saij = atoms.layout.blocks(density.occupancy_sx, species)
        found.append(torch.linalg.eigvalsh(root_ij @ blocks_saij @ root_ij).flatten() / density.spin.degeneracy)
    few, many = torch.stack(torch.cat(found).aminmax()).tolist()
    return few, many


def deepest_level(datasets: Mapping[str, PawDataset]) -> float:
    """Distance in hartree from the highest to the deepest filled level of one atom, the largest of all elements."""
    levels = [[state.e for state in data.states if state.f > 0 and state.e is not None] for data in datasets.values()]
    return max((max(some) - min(some) for some in levels if some), default=0.0)


def overfilled(density: Density, output: Density, atoms: PawAtoms) -> str:
    """What is not to be believed of the input and output density of a step, in words; '' for nothing.

    Such a step is refused: what comes of it leads to a ghost.
    """
    few, many = state_occupancies((density, output), atoms)
    if few >= TOO_FEW and many <= TOO_MANY:
        return ""
    return f"states of an atom hold {few:.2f} to {many:.2f} times what a full one can: a ghost"


def unbelievable(depth: float, energy: float, charge: float, atoms: int, deepest: float) -> str:
    """Why the energies of a step cannot be those of the end, in words; '' if they can.

    On the way they may well be of this kind: while charge sloshes, energies of single steps mean little.
    depth: of the lowest band below the highest filled one; energy: relative to the atoms; charge: electrons more or
    less than the neutral atoms have; atoms: how many; deepest: `deepest_level`; hartree.
    """
    signs = []
    if depth > deepest + TOO_DEEP:
        signs.append(
            f"a band lies {depth * HARTREE_EV:.0f} eV below the highest filled one, in the atoms "
            f"{deepest * HARTREE_EV:.0f} eV"
        )
    count = atoms + abs(charge)
    if energy < -TOO_LOW * count:
        signs.append(f"the energy is {-energy * HARTREE_EV / count:.0f} eV per atom below that of the atoms")
    return "; ".join(signs)
