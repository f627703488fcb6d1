"""The local potential that electrons feel, as LOCPOT holds it, in eV.

    v(R) = v_H(R) + v̄(R)   [+ v_xc,s(R)]

v_H of the smooth charge with compensation charges, cores and nuclei (LVHAR: ionic and Hartree potential), v̄ the zero
potential of the data sets, which ends at the spheres; v_xc of the smooth density (LVTOT).  Its zero is the mean of v_H
over the cell, so only differences mean something: to the vacuum, or to the Fermi level, which has the same zero.
"""

import numpy as np
import torch
from torch.nn.functional import pad

from eigenwerk.dft.basis.plane_wave_basis import PlaneWaveBasis
from eigenwerk.dft.potential import Potential
from eigenwerk.dft.terms.dipole import Dipole
from eigenwerk.dft.terms.hartree import hartree
from eigenwerk.units import HARTREE_EV


def electrostatic_blocks(potential: Potential, dipole: Dipole | None = None) -> list[np.ndarray]:
    """v_H + v̄ (and what corrects it for a dipole): the field of LOCPOT with LVHAR, as a list of one."""
    return _on_grid(potential.charges.atoms.basis, electrostatic(potential, dipole)[None])


def total_blocks(potential: Potential, dipole: Dipole | None = None) -> list[np.ndarray]:
    """All local potentials: one field, or those of both spins, of LOCPOT with LVTOT."""
    atoms = potential.charges.atoms
    electrostatic_g = electrostatic(potential, dipole)
    rest_sg = potential.vt_sg - electrostatic_g[: potential.vt_sg.shape[1]]
    whole_sg = electrostatic_g + pad(rest_sg, (0, len(electrostatic_g) - rest_sg.shape[1]))
    return _on_grid(atoms.basis, whole_sg)


def _on_grid(basis: PlaneWaveBasis, potential_sg: torch.Tensor) -> list[np.ndarray]:
    return list(basis.fine_map.to_grid(potential_sg * HARTREE_EV).cpu().numpy())


def electrostatic(potential: Potential, dipole: Dipole | None = None) -> torch.Tensor:
    """v_H + v̄, and the potential that corrects them for a dipole, on the electrostatic sphere; hartree."""
    atoms = potential.charges.atoms
    whole_g = hartree(potential.charges.charge_g, atoms.basis)[1].clone()
    whole_g[: atoms.basis.density_count] += atoms.zero_potential_g
    if dipole is not None and dipole.given.in_potential:
        whole_g += dipole.potential(potential.charges)
    return whole_g
