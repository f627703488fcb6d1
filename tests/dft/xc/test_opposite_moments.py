"""H2, Li2, H4 with moments of opposite sign far from each other: one spin has almost no density at each atom."""

import pytest
from ase import Atoms

from eigenwerk import dft


def chain(symbol, count, distance, cell):
    return Atoms([symbol] * count, cell=cell, positions=[(0, 0, n * distance) for n in range(count)], pbc=True)


def solved(atoms, **settings):
    steps = []
    start = {"kpts": (1, 1, 1), "ispin": 2, "isif": 0, "ismear": 0, "sigma": 0.05, "ediff": 1e-6, "encut": 300}
    found = dft.run(atoms, device="cpu", on_step=steps.append, **start | settings)
    assert found.converged
    return found.free_energy_eV, len(steps)


@pytest.mark.slow
def test_h2_apart_is_the_same_with_both_settings_of_prec_and_below_the_triplet():
    atoms = chain("H", 2, 4.0, [6, 6, 8])
    singlet, steps = solved(atoms, magmom=[1, -1])
    whole, _ = solved(atoms, magmom=[1, -1], prec="Accurate")
    triplet, _ = solved(atoms, magmom=[1, 1])
    assert singlet == pytest.approx(whole, abs=2e-4)
    assert whole == pytest.approx(-2.1394, abs=2e-4)
    assert singlet < triplet - 3e-3
    assert steps <= 20


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["Normal", "Accurate"])
def test_h2_apart_converges_tightly(precision):
    _, steps = solved(chain("H", 2, 4.0, [6, 6, 9]), magmom=[1, -1], prec=precision, ediff=1e-7)
    assert steps <= 20


@pytest.mark.slow
@pytest.mark.parametrize(
    ("atoms", "magmom"),
    [(chain("Li", 2, 6.0, [7, 7, 12]), [1, -1]), (chain("H", 4, 2.5, [6, 6, 10]), [1, -1, 1, -1])],
    ids=["Li2", "H4"],
)
def test_chains_lose_nothing_with_normal(atoms, magmom):
    normal, _ = solved(atoms, magmom=magmom)
    whole, _ = solved(atoms, magmom=magmom, prec="Accurate")
    assert normal == pytest.approx(whole, abs=2e-4)
