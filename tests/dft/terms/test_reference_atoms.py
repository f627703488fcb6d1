"""Energies of reference atoms in functionals other than that of their data sets."""

import pytest

from eigenwerk.dft.terms.reference_atoms import atomic_xc, own_functional, reference_energy
from eigenwerk.functionals.table import FUNCTIONALS, OFFERED
from eigenwerk.units import HARTREE_EV

SETS = [("Si", "PBE", "PE"), ("Fe", "PBE", "PE"), ("Si", "LDA", "PW92")]


@pytest.mark.parametrize(("symbol", "set_name", "tag"), SETS)
def test_exchange_and_correlation_of_the_atom_is_that_of_the_data_set(dataset, symbol, set_name, tag):
    data = dataset(symbol, set_name)
    own = own_functional(data)
    assert own is FUNCTIONALS[tag]
    assert atomic_xc(data, own) == pytest.approx(data.ae_energy.xc, abs=2e-5)
    assert reference_energy(data, own) == data.ae_energy.total


SOME = "PE", "AM", "B3", "CA"
"""A gradient, one from uniform gases, a combination and a local one; others are slow."""


@pytest.mark.fast("PE")
@pytest.mark.parametrize(
    "functional",
    [pytest.param(f, id=f.tag, marks=() if f.tag in SOME else pytest.mark.slow) for f in OFFERED],
)
def test_energies_against_the_atoms_hardly_depend_on_the_functional(crystal, calculation, functional):
    """Functionals differ by tenths of an eV per atom in what binds silicon; the whole atom's E_xc by up to 28 eV."""
    settings = {"cutoff_eV": 120.0, "mesh": (2, 2, 2), "symmetry_level": 2, "ediff_eV": 1e-3}
    free, pbe = (
        calculation(crystal("si"), functional=tag, **settings).run().state.energies.free * HARTREE_EV / 2
        for tag in (functional.tag, "PE")
    )
    assert abs(free - pbe) < 1.0
