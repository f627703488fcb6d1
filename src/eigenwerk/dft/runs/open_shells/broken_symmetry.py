"""States of atoms and molecules with less symmetry than their nuclei.

Where a degenerate level is partly filled (2 electrons in the three p orbitals of an atom, 1 in both π* of NO), all of
its orbitals are filled alike as long as densities are averaged over the symmetry of the nuclei.  Semilocal and hybrid
functionals have lower energies for whole electrons in some of the orbitals: 0.05 eV in a silicon atom, 0.7 in NO by
B3LYP.  Likewise for two spins that parted atoms keep: both parallel, or opposite (N2 at 2.5 Å: 1.0 eV).

Operations that are their own inverses and exchange with each other have no degenerate levels, and no turn of the
whole molecule keeps all of them: with the largest such group left, orbitals are filled one by one and the orientation
is held, which nothing else does in free space.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations, islice, product

import numpy as np
import torch
from scipy.sparse.csgraph import breadth_first_order, minimum_spanning_tree

from eigenwerk.dft.crystal.structure import Structure, shortest
from eigenwerk.dft.crystal.symmetry import Symmetry
from eigenwerk.dft.density.density import Density
from eigenwerk.dft.density.symmetrise import Symmetriser
from eigenwerk.dft.filling.part_levels import PartLevel, part_levels
from eigenwerk.dft.hamiltonian.hamiltonian import Hamiltonian
from eigenwerk.dft.paw.atoms import PawAtoms
from eigenwerk.dft.terms.potential import Potential
from eigenwerk.linalg.products import combine, inner
from eigenwerk.units import HARTREE_EV

SAME_LEVEL = 0.02 / HARTREE_EV
"""Neighbouring levels that are nearer than this (hartree) are one: what grids and boxes part levels by."""

WHOLE = 0.02
"""A level is filled, or empty, where so much of one electron per spin is missing, or there, at most."""

GUIDE = {
    (1, 0, 0): 1.0, (0, 1, 0): 0.6, (0, 0, 1): 0.25, (1, 1, 0): 0.17, (1, -1, 0): -0.13, (1, 0, 1): -0.11,
    (1, 0, -1): 0.09, (0, 1, 1): 0.07, (0, 1, -1): -0.05,
}  # fmt: skip
"""Waves, and amplitudes in hartree, of the potential that tells the orbitals of a level apart: long ones, so that it
grows steadily from the middle of the molecule, and no two alike.  Nothing but the choice of the orbitals depends on
it."""

CARRIES, PARALLEL, DEAD = 0.2, 1.5, 0.05
"""Bohr magnetons: an atom with a moment; a molecule whose atoms may have been opposite; atoms of a molecule without
any."""

SMALL_GAP = 2.5 / HARTREE_EV
"""Where the gap of a molecule without moments is larger, its electrons are paired: closed shells near equilibrium
have 3 to 9 eV, bonds beyond the point from which on opposite spins are lower have less (H2 at 2 Å, N2 at 1.8 Å)."""


def partly_filled(eig_sn: torch.Tensor, occ_sn: torch.Tensor) -> tuple[PartLevel, ...]:
    """Degenerate levels that hold neither none nor all of their electrons; hartree, occupations 0 to 1."""
    levels = part_levels(eig_sn.cpu().numpy(), occ_sn.cpu().numpy(), SAME_LEVEL, WHOLE)
    return tuple(level for level in levels if level.count > 1)


def two_fold_groups(symmetry: Symmetry) -> tuple[np.ndarray, ...]:
    """The largest groups of operations that are their own inverses, (o,) of bool each; the identity alone where there
    are pure translations.

    Such operations exchange with each other.  Of groups that operations take into each other one stands for all; the
    first is that whose matrices are nearest to diagonal ones.
    """
    rotation_occ = symmetry.rotation_occ
    place = {rotation_cc.tobytes(): o for o, rotation_cc in enumerate(rotation_occ)}
    if len(place) < symmetry.order:
        return (np.arange(symmetry.order) == 0,)
    product_oo = np.array([[place[(a @ b).tobytes()] for b in rotation_occ] for a in rotation_occ])
    inverse_o = (product_oo == 0).argmax(axis=1)
    halves = [o for o in range(1, symmetry.order) if product_oo[o, o] == 0]
    groups: set[frozenset[int]] = {frozenset([0])}
    for some in (some for count in (1, 2, 3) for some in combinations(halves, count)):
        if all(product_oo[a, b] == product_oo[b, a] for a, b in combinations(some, 2)):
            made = {0}
            for one in some:
                made |= {int(product_oo[one, other]) for other in made}
            groups.add(frozenset(made))
    most = max(map(len, groups))
    skew_o = np.abs(rotation_occ).sum((1, 2)) - np.abs(np.trace(rotation_occ, axis1=1, axis2=2))
    kept: list[frozenset[int]] = []
    largest = (group for group in groups if len(group) == most)
    for group in sorted(largest, key=lambda one: (skew_o[list(one)].sum(), sorted(one))):
        turned = ([product_oo[product_oo[o, p], inverse_o[o]] for p in group] for o in range(symmetry.order))
        alike = {frozenset(map(int, one)) for one in turned}
        if not alike & set(kept):
            kept.append(group)
    return tuple(np.isin(np.arange(symmetry.order), sorted(group)) for group in kept)


def opposed_moments(
    structure: Structure, moment: float, moment_a: np.ndarray, gap: float, open_a: np.ndarray
) -> np.ndarray | None:
    """Moments to start from, in turn up and down from neighbour to neighbour, (a,) Bohr magnetons; None where the
    spins of a molecule are paired, opposite already, or those of one atom.

    moment, moment_a: of the molecule and its atoms in the state found; gap: hartree; open_a: what free atoms have by
    Hund's rule, and the moments to begin with.  Neighbours are those of the shortest tree that joins the atoms with
    open shells.
    """
    carrier_a = np.flatnonzero((np.abs(moment_a) > CARRIES) & (open_a > 0))
    parallel = abs(moment) > PARALLEL and abs(moment_a[carrier_a].sum()) == np.abs(moment_a[carrier_a]).sum()
    if np.abs(moment_a).max() < DEAD and gap < SMALL_GAP:
        carrier_a = np.flatnonzero(open_a > 0)
    elif not parallel:
        return None
    if len(carrier_a) < 2:
        return None
    scaled_ac = structure.scaled_ac[carrier_a]
    step_aav = shortest(scaled_ac[:, None] - scaled_ac[None]) @ structure.lattice_cv
    tree = minimum_spanning_tree(np.linalg.norm(step_aav, axis=-1))
    order, parent_a = breadth_first_order(tree, 0, directed=False)
    sign_a = np.ones(len(carrier_a))
    for atom in order[1:]:
        sign_a[atom] = -sign_a[parent_a[atom]]
    asked_a = np.zeros(len(moment_a))
    asked_a[carrier_a] = sign_a * open_a[carrier_a]
    return asked_a


MOST_FILLINGS = 10
"""Ways to fill a level that are compared: all of a p or a d shell."""


def fillings(levels: Sequence[PartLevel]) -> list[tuple[tuple[int, ...], ...]]:
    """Orders in which the orbitals of each level are filled, as many as are to be compared: for each level the orbitals
    from the first filled to the last, all choices of those that hold electrons."""

    def orders(level: PartLevel) -> list[tuple[int, ...]]:
        holding = min(max(round(level.electrons), 1), level.count)
        chosen = combinations(range(level.count), holding)
        return [(*some, *(n for n in range(level.count) if n not in some)) for some in chosen]

    return list(islice(product(*map(orders, levels)), MOST_FILLINGS))


def told_apart(
    atoms: PawAtoms, symmetrise: Symmetriser, potential: Potential, coeff_sknG: torch.Tensor,
    levels: Sequence[PartLevel],
) -> torch.Tensor:  # fmt: skip
    """Orbitals of one k-point in which those of partly filled levels are told apart.

    They become eigenvectors of -∇²/2 + v in their level, v of `GUIDE` averaged over the operations that are left
    (symmetrise): each belongs to one representation of these.
    """
    guide = Hamiltonian.of(atoms, _guiding(atoms, symmetrise, potential))
    coeff_sknG = coeff_sknG.clone()
    for level in levels:
        block = guide.block(level.spin)
        own_knG = coeff_sknG[level.spin, :, level.bands].contiguous()
        matrix_knn = block.sum(inner(own_knG, block.first(own_knG)))
        _, turn_knn = torch.linalg.eigh(0.5 * (matrix_knn + matrix_knn.mH))
        turn_knn = atoms.runtime.world.broadcast(turn_knn.contiguous())
        coeff_sknG[level.spin, :, level.bands] = combine(turn_knn, own_knG)
    return coeff_sknG


def filled_apart(
    coeff_sknG: torch.Tensor, occ_skn: torch.Tensor, levels: Sequence[PartLevel], orders: Sequence[tuple[int, ...]]
) -> tuple[torch.Tensor, torch.Tensor]:
    """The orbitals of each level in an order, and occupations with one after the other filled."""
    coeff_sknG, occ_skn = coeff_sknG.clone(), occ_skn.clone()
    for level, order in zip(levels, orders, strict=True):
        coeff_sknG[level.spin, :, level.bands] = coeff_sknG[level.spin, :, level.bands][:, list(order)]
        filled_n = level.electrons - torch.arange(len(order), dtype=occ_skn.dtype)
        occ_skn[level.spin, :, level.bands] = filled_n.clamp(0, 1)
    return coeff_sknG, occ_skn


def _guiding(atoms: PawAtoms, symmetrise: Symmetriser, potential: Potential) -> Potential:
    """v of `GUIDE` about the middle of the atoms, in place of a potential; nothing in the spheres, no rows."""
    basis = atoms.basis
    scaled_ac = basis.structure.scaled_ac
    middle_c = scaled_ac[0] + shortest(scaled_ac - scaled_ac[0]).mean(axis=0)
    index_gc = basis.index_gc[: basis.density_count].cpu().numpy()
    wave_sg = torch.zeros_like(potential.vt_sg)
    for wave_c, amplitude in GUIDE.items():
        for sign in (1, -1):
            (place,) = np.nonzero((index_gc == sign * np.array(wave_c)).all(axis=1))
            if len(place):
                wave_sg[:, place[0]] = amplitude * np.exp(-2j * np.pi * sign * np.dot(wave_c, middle_c))
    bare = Density.of(wave_sg, torch.zeros_like(potential.dH_sx), potential.derivative.spin)
    fields = {**potential.derivative.value, **symmetrise(bare).value}
    return replace(potential, derivative=replace(potential.derivative, value=fields), rows=None)
