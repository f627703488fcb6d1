"""Non-local correlation of the reference atoms: a double integral over radii."""

import numpy as np
import pytest

from eigenwerk.dft.crystal.structure import Structure
from eigenwerk.dft.density.density import superposed_atoms
from eigenwerk.dft.non_local.atom import atomic_non_local
from eigenwerk.dft.non_local.correlation import NonLocalCorrelation
from eigenwerk.dft.spin.form import UNPOLARISED
from eigenwerk.functionals.non_local import NonLocal


@pytest.mark.parametrize("non_local", [NonLocal(), NonLocal("rVV10")], ids=("Dion", "rVV10"))
def test_an_atom_in_a_box_has_the_energy_of_its_radial_integral(calculation, non_local):
    """Of the same smooth density with its core, but for waves beyond the cutoff and images 8 Å away."""
    structure = Structure(np.diag([15.0, 15.0, 15.0]), ("Ne",), np.array([[0.5, 0.5, 0.5]]))
    calc = calculation(structure, cutoff_eV=180.0, real=True)
    density_sg = superposed_atoms(calc.atoms, UNPOLARISED).density_sg + calc.atoms.pseudo_core_g
    energy, _ = NonLocalCorrelation(calc.basis, non_local).energy_and_potential(density_sg)
    (species,) = calc.atoms.layout.species
    expected = atomic_non_local(species.setup.dataset, non_local)
    assert abs(expected) > 1e-3
    assert float(energy) == pytest.approx(expected, rel=0.02)
