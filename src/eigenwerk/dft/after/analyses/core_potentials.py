"""The electrostatic potential at the sites of atoms, whose differences are shifts of core levels in the initial state.

    v_a = ∫ v(r) g_0(r - R_a) d³r / ∫ g_0 d³r

g_0: the Gaussian exp(-(r/rc)²) of the compensation charges of the data set, in the place of VASP's test charge.  Inside
the spheres v is that of the smooth charge, so values of different elements, or of other data, cannot be compared.
"""

from math import pi, sqrt
from typing import Any

import numpy as np

from eigenwerk.dft.after.analysis import Analysis
from eigenwerk.dft.after.fields.potential import electrostatic
from eigenwerk.dft.terms.dipole import Dipole
from eigenwerk.dft.terms.potential import Potential
from eigenwerk.io.quantity import Quantity, plain
from eigenwerk.io.vasp.output.potentials import CorePotentials
from eigenwerk.units import BOHR_ANGSTROM, HARTREE_EV


def core_potentials(potential: Potential, dipole: Dipole | None = None) -> CorePotentials:
    """At all atoms, eV, with the zero of the eigenvalues; radii of the test charges by element."""
    atoms = potential.charges.atoms
    value_a = np.zeros(len(atoms.basis.structure.symbols))
    for species, integral_aL in atoms.compensation_potential(electrostatic(potential, dipole)):
        value_a[species.atom_a] = integral_aL[:, 0].cpu().numpy() / sqrt(4 * pi) * HARTREE_EV
    radius = {s.setup.symbol: sqrt(1.5) * s.setup.shape.rc * BOHR_ANGSTROM for s in atoms.layout.species}
    return CorePotentials(value_a, radius)


def _in_document(core: CorePotentials, fermi_level: float) -> Any:
    return plain(core.value_a, fermi_level)


ANALYSIS = Analysis(
    (Quantity("core_potentials", "eV", entries={"core_potentials_eV": _in_document}),),
    lambda scene: (core_potentials(scene.potential, scene.dipole),), place=3,
)  # fmt: skip
