"""Degenerate levels share electrons evenly: the operator of a symmetric crystal stays symmetric."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from eigenwerk.dft.crystal.kpoints import mesh_kpoints
from eigenwerk.dft.crystal.structure import Structure
from eigenwerk.dft.crystal.symmetry import find_symmetry
from eigenwerk.dft.exchange.even_levels import closeness, evened, turned_points
from eigenwerk.dft.spectrum.occupations import Occupations
from eigenwerk.functionals.hybrid import Hybrid
from eigenwerk.units import BOHR_ANGSTROM, HARTREE_EV

BCC = 0.5 * np.array([[-1, 1, 1], [1, -1, 1], [1, 1, -1]])
IRON = Structure(2.86 / BOHR_ANGSTROM * BCC, ("Fe",), np.zeros((1, 3)), np.array([2.5]))


def test_levels_at_the_same_place_have_the_mean_of_their_occupations():
    """In any order, and only at the points that are asked for."""
    apart = 0.4e-3
    eig_skn = torch.tensor([[[-1.0, 0.5 + apart, 0.7, 0.5, 0.5 + 2 * apart, 0.5 + 3e-3]]]).repeat(1, 2, 1).double()
    occ_skn = torch.tensor([[[1.0, 0.6, 0.0, 1.0, 0.2, 0.1]]]).repeat(1, 2, 1).double()
    found = evened(Occupations(occ_skn, (0.5,), 0.0, 0.5), eig_skn, [1], 1e-3)
    assert torch.equal(found.occ_skn[:, 0], occ_skn[:, 0])
    torch.testing.assert_close(found.occ_skn[0, 1], torch.tensor([1.0, 0.6, 0.0, 0.6, 0.6, 0.1]).double())


def test_closeness_is_of_first_order_where_the_tolerance_is_of_second():
    assert closeness(1e-3 / HARTREE_EV) * HARTREE_EV == pytest.approx(1e-2)
    assert closeness(1e-7 / HARTREE_EV) * HARTREE_EV == pytest.approx(1e-4)
    assert closeness(0.0) * HARTREE_EV == pytest.approx(1e-5)


def test_points_whose_levels_may_be_degenerate():
    """Those of a cubic crystal that operations leave in place; none without operations."""
    mesh, shift = (4, 4, 4), (0.0, 0.0, 0.0)
    cubic = find_symmetry(IRON, 1e-6, 2)
    kpoints = mesh_kpoints(mesh, shift, True, cubic)
    turned = turned_points(kpoints)
    assert turned == list(range(len(kpoints.point_kc)))  # all lie on an axis or in a mirror plane
    bare = mesh_kpoints(mesh, shift, True, find_symmetry(IRON, 1e-6, 0))
    assert turned_points(bare) == []
    general = replace(kpoints, point_kc=np.array([[0.13, 0.21, 0.37], [0.0, 0.0, 0.0]]))
    assert turned_points(general) == [1]


@pytest.mark.slow
def test_iron_keeps_the_symmetry_of_its_crystal(calculation):
    """HSE06 of 2 x 2 x 2 points did not converge in 200 steps: whole electrons came to lie in parts of t2g levels."""
    calc = calculation(
        IRON, mesh=(2, 2, 2), cutoff_eV=200.0, symmetry_level=2, real=True, spins=2, ismear=1, sigma_eV=0.2,
        stress=False, ediff_eV=1e-5, hybrid=Hybrid.of(0.25, 0.2 * BOHR_ANGSTROM),
    )  # fmt: skip
    state = calc.run().state
    assert state.converged
    assert len(state.history) < 60
    assert calc.exchange.applications <= 8
    # at Gamma: s, t2g, e of either spin
    for eig_n in state.eig_skn[:, 0].numpy() * HARTREE_EV:
        assert np.ptp(eig_n[1:4]) < 1e-4
        assert np.ptp(eig_n[4:6]) < 1e-4
