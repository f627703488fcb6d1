"""The local potential that electrons feel, as LOCPOT holds it, in eV.

    v(R) = v_H(R) + v̄(R)   [+ v_xc,s(R)]

v_H of the smooth charge with compensation charges, cores and nuclei (LVHAR: ionic and Hartree potential), v̄ the zero
potential of the data sets, which ends at the spheres; v_xc of the smooth density (LVTOT).  Its zero is the mean of v_H
over the cell, so only differences mean something: to the vacuum, or to the Fermi level, which has the same zero.
"""

import numpy as np
import torch
from torch.nn.functional import pad

from eigenwerk.dft.terms.dipole import Dipole
from eigenwerk.dft.terms.hartree import hartree
from eigenwerk.dft.terms.potential import Potential
from eigenwerk.units import HARTREE_EV


def electrostatic_blocks(potential: Potential, dipole: Dipole | None = None) -> list[np.ndarray]:
    """v_H + v̄ (and what corrects it for a dipole): the field of LOCPOT with LVHAR, as a list of one."""
    return _on_grid(potential, electrostatic(potential)[None], dipole)


def total_blocks(potential: Potential, dipole: Dipole | None = None) -> list[np.ndarray]:
    """All local potentials: one field, or those of both spins, of LOCPOT with LVTOT."""
    count = potential.vt_sg.shape[1]
    rest_sg = potential.vt_sg - electrostatic(potential, dipole)[:count]
    electrostatic_g = electrostatic(potential)
    whole_sg = electrostatic_g + pad(rest_sg, (0, len(electrostatic_g) - count))
    return _on_grid(potential, whole_sg, dipole)


def _on_grid(potential: Potential, potential_sg: torch.Tensor, dipole: Dipole | None) -> list[np.ndarray]:
    """Of the density grid, eV, with what corrects for a dipole as lines with a step."""
    charges = potential.charges
    value_sR = charges.atoms.basis.fine_map.to_grid(potential_sg * HARTREE_EV).cpu().numpy()
    if dipole is not None and dipole.given.in_potential:
        for axis in dipole.given.axes:
            points = value_sR.shape[1 + axis]
            line_x = dipole.line(charges, axis, np.arange(points) / points) * HARTREE_EV
            value_sR = value_sR + line_x.reshape([-1 if c == axis else 1 for c in range(3)])
    return list(value_sR)


def electrostatic(potential: Potential, dipole: Dipole | None = None) -> torch.Tensor:
    """v_H + v̄, and the waves of what corrects them for a dipole, on the electrostatic sphere; hartree."""
    atoms = potential.charges.atoms
    whole_g = hartree(potential.charges.charge_g, atoms.basis)[1].clone()
    whole_g[: atoms.basis.density_count] += atoms.zero_potential_g
    if dipole is not None and dipole.given.in_potential:
        whole_g += dipole.potential(potential.charges)
    return whole_g
