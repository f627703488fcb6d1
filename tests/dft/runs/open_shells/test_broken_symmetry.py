"""Which states with less symmetry than the nuclei are tried, and from where."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from eigenwerk.dft.crystal.structure import Structure
from eigenwerk.dft.crystal.symmetry import find_symmetry, subgroup
from eigenwerk.dft.filling.part_levels import PartLevel
from eigenwerk.dft.runs.open_shells.broken_symmetry import (
    MOST_FILLINGS,
    filled_apart,
    fillings,
    opposed_moments,
    partly_filled,
    two_fold_groups,
)
from eigenwerk.dft.settings.dataset import open_shell_moment
from eigenwerk.units import HARTREE_EV


def _molecule(symbols, places, cell=(12.0, 12.0, 12.0)):
    return Structure(np.diag(cell), symbols, np.array(places) / np.array(cell))


def _operations(symbols, places, cell=(12.0, 12.0, 12.0)):
    return find_symmetry(_molecule(symbols, places, cell), 1e-5, 2)


CH4 = [(0, 0, 0), (1.2, 1.2, 1.2), (1.2, -1.2, -1.2), (-1.2, 1.2, -1.2), (-1.2, -1.2, 1.2)]


@pytest.mark.parametrize(
    ("operations", "order", "left", "kinds"),
    [
        (_operations(("Si",), [(0, 0, 0)]), 48, 8, 2),  # mirrors of the axes, or of one axis and two diagonals
        (_operations(("N", "O"), [(0, 0, 0), (0, 0, 2.2)]), 8, 4, 2),
        (_operations(("N", "N"), [(0, 0, 0), (0, 0, 2.2)], (9, 10, 11)), 8, 8, 1),  # has no degenerate levels
        (_operations(("C", "H", "H", "H", "H"), CH4), 24, 4, 2),
        (_operations(("Si", "Si"), [(0, 0, 0), (6, 6, 6)]), 96, 1, 1),  # pure translations: no molecule
    ],
)
def test_what_is_left_are_operations_that_are_their_own_inverses_and_exchange(operations, order, left, kinds):
    assert operations.order == order
    groups = two_fold_groups(operations)
    assert [int(keep_o.sum()) for keep_o in groups] == [left] * kinds
    for keep_o in groups:
        rotation_occ = subgroup(operations, keep_o).rotation_occ
        for a_cc in rotation_occ:
            assert (a_cc @ a_cc == np.eye(3)).all()
            for b_cc in rotation_occ:
                assert (a_cc @ b_cc == b_cc @ a_cc).all()
                assert any((a_cc @ b_cc == c_cc).all() for c_cc in rotation_occ)


def test_levels_that_hold_neither_none_nor_all_of_their_electrons_are_partly_filled():
    eig_sn = torch.tensor([[-10.0, -4.0, -4.0, -3.999, -1.0, -1.0], [-9.0, -3.0, -3.0, -3.0, -0.5, 0.5]]) / HARTREE_EV
    occ_sn = torch.tensor([[1.0, 2 / 3, 2 / 3, 2 / 3, 0.0, 0.0], [1.0, 0.995, 1.0, 1.0, 0.5, 0.0]])
    (level,) = partly_filled(eig_sn, occ_sn)  # one orbital alone that is half filled is no degenerate level
    assert (level.spin, level.bands, pytest.approx(2.0)) == (0, slice(1, 4), level.electrons)
    assert level.words == "bands 2 to 4, 2.00 of 3 filled"


def test_open_shells_are_all_of_them():
    def states(*shells):
        return [SimpleNamespace(n=n, l=l, f=f) for n, l, f in shells]

    assert open_shell_moment(states((2, 0, 2), (2, 1, 3))) == 3  # N
    assert open_shell_moment(states((3, 0, 2), (3, 1, 6), (4, 0, 2))) == 0
    assert open_shell_moment(states((3, 2, 5), (4, 0, 1))) == 6  # Cr


def test_moments_are_opposite_on_neighbours_of_a_chain_and_through_the_wall_of_the_box():
    chain = _molecule(("H",) * 4, [(0, 0, 10), (0, 0, 1), (0, 0, 4), (0, 0, 7)], (12, 12, 24))
    found = opposed_moments(chain, 4.0, np.full(4, 0.6), 1.0, np.ones(4))
    order = np.argsort([10, 1, 4, 7])
    assert abs(np.diff(found[order])).tolist() == [2, 2, 2]
    wrapped = _molecule(("H",) * 2, [(0, 0, 0.5), (0, 0, 11.5)])
    assert opposed_moments(wrapped, 2.0, np.full(2, 0.6), 1.0, np.ones(2)).tolist() == [1, -1]


@pytest.mark.parametrize(
    ("moment", "moment_a", "gap_eV", "open_a", "why"),
    [
        (1.0, [0.3, 0.3], 1.0, [3, 2], "one electron has no partner to be opposite to"),
        (0.0, [0.6, -0.6], 1.0, [1, 1], "opposite already"),
        (2.0, [0.9, 0.0], 1.0, [2, 0], "one atom alone"),
        (0.0, [0.0, 0.0], 7.0, [2, 2], "paired electrons, with a wide gap"),
        (0.0, [0.0, 0.0], 1.0, [2, 0], "no second open shell"),
    ],
)
def test_nothing_is_tried_where_no_two_spins_can_be_opposite(moment, moment_a, gap_eV, open_a, why):
    molecule = _molecule(("N", "O"), [(0, 0, 0), (0, 0, 2.2)])
    found = opposed_moments(molecule, moment, np.array(moment_a), gap_eV / HARTREE_EV, np.array(open_a, dtype=float))
    assert found is None, why


def test_dead_moments_and_a_small_gap_are_tried():
    molecule = _molecule(("H", "H"), [(0, 0, 0), (0, 0, 4)])
    assert opposed_moments(molecule, 0.0, np.zeros(2), 1.0 / HARTREE_EV, np.ones(2)).tolist() == [1, -1]


def test_every_choice_of_orbitals_that_hold_the_electrons_is_compared():
    p_shell, d_shell = PartLevel(0, slice(1, 4), 2.0), PartLevel(1, slice(0, 5), 2.0)
    assert fillings([p_shell]) == [((0, 1, 2),), ((0, 2, 1),), ((1, 2, 0),)]
    assert len(fillings([d_shell])) == 10 and len(fillings([p_shell, d_shell])) == MOST_FILLINGS
    coeff_sknG = torch.arange(10.0).reshape(2, 1, 5, 1)
    occ_skn = torch.full((2, 1, 5), 0.5, dtype=torch.float64)
    turned_sknG, filled_skn = filled_apart(coeff_sknG, occ_skn, [PartLevel(0, slice(1, 4), 1.4)], [(2, 0, 1)])
    assert turned_sknG[0, 0, :, 0].tolist() == [0, 3, 1, 2, 4] and turned_sknG[1, 0, :, 0].tolist() == [5, 6, 7, 8, 9]
    assert filled_skn[0, 0].tolist() == pytest.approx([0.5, 1.0, 0.4, 0.0, 0.5]) and (filled_skn[1] == 0.5).all()
