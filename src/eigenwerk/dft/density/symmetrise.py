"""Symmetrised densities and one-centre occupancies.

An operation x -> W x + t of the crystal leaves the density unchanged, n_s(W x + t) = n_s'(x), where
s' is the other spin for operations that flip all moments.  In reciprocal space, for integer g,

    n_s(g) = 1/N Σ_o n_s'(W_oᵀ g) exp(-2πi g·t_o),

and for the occupancies of the atom that o moves a to,  D(o a) = 1/N Σ_o M_o D(a) M_oᵀ, where
Y_i(R x) = Σ_j M_ij Y_j(x).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import torch

from eigenwerk.dft.crystal.rotations import axial
from eigenwerk.dft.crystal.symmetry import Symmetry
from eigenwerk.dft.density.fields import Fields
from eigenwerk.dft.density.kinds.table import WAVES
from eigenwerk.dft.paw.atom_layout import Species
from eigenwerk.dft.paw.atoms import PawAtoms
from eigenwerk.dft.paw.equivalence import projector_rotation
from eigenwerk.dft.spin.form import Spin
from eigenwerk.errors import InputError
from eigenwerk.parallel.runtime import Runtime

SomeFields = TypeVar("SomeFields", bound=Fields)

UNSYMMETRIC = 1e-5
"""Deviation of a density from its average that is no rounding."""

BLOCK_BYTES, CACHE_BLOCK_BYTES = 2**28, 2**20
"""What operations that are applied together may make of a density, on a GPU and on a processor."""


@dataclass(frozen=True)
class Moves:
    """Where a group takes some atoms, which it does not mix with others; atoms by their place among these.

    orbit_a: which set of atoms an atom belongs to that pure translations take into each other; member_ot: the members
    of each set; target_oa: where each coset representative takes each atom; source_oa: which atom it takes there.
    """

    orbit_a: torch.Tensor
    member_ot: torch.Tensor
    target_oa: torch.Tensor
    source_oa: torch.Tensor

    def translated(self, value_ax: torch.Tensor) -> torch.Tensor:
        """The average over all pure translations, atoms first: that over the members of each set."""
        sets, size = self.member_ot.shape
        if size == 1:
            return value_ax
        member_otx = value_ax.index_select(0, self.member_ot.view(-1)).unflatten(0, (sets, size))
        return member_otx.mean(1).index_select(0, self.orbit_a)


@dataclass(frozen=True)
class Symmetriser:
    """Averages over a group G, as coset representatives times pure translations T.

    A supercell may have thousands of operations but at most 96 representatives (rotation, spin flip).
    place_og: where the representatives find the wave that they bring to g, among all waves and their conjugates behind
    them; phase_og: exp(-2πi g·t_o) / N, zero where exp(-2πi g·t) is not 1 for all of T (the average over T);
    axial_ovv: what the representatives do to axial vectors; rotation_oij, moves: M of the representatives and what they
    do to the atoms, by species; all_moves: of all atoms.
    """

    symmetry: Symmetry
    atoms: PawAtoms
    representative_o: np.ndarray
    place_og: torch.Tensor
    phase_og: torch.Tensor
    axial_ovv: torch.Tensor
    rotation_oij: dict[str, torch.Tensor]
    moves: dict[str, Moves]
    all_moves: Moves

    def __call__(self, fields: SomeFields) -> SomeFields:
        """Average of a density, or of its potential, over the group."""
        if self.symmetry.order == 1:
            return fields
        spin = fields.spin
        return fields.map_names(
            lambda name, x_sx: self._sphere(x_sx, spin) if name in WAVES else self._occupancies(x_sx, spin)
        )

    def deviation(self, fields: SomeFields) -> float:
        """Largest change of any field by the average, relative to its largest value."""
        average = self(fields)
        pairs = [(fields.value[name], average.value[name]) for name in fields.value]
        return max(float((a - b).abs().max() / a.abs().max().clamp_min(1e-30)) for a, b in pairs)

    def forces(self, force_av: torch.Tensor) -> torch.Tensor:
        """F(o a) = 1/N Σ_o R_o F(a)."""
        average_av = self.all_moves.translated(force_av)
        total_av = torch.zeros_like(force_av)
        rotation_ovv = force_av.new_tensor(np.array(self.symmetry.rotation_ovv[self.representative_o]))
        for target_a, rotation_vv in zip(self.all_moves.target_oa, rotation_ovv, strict=True):
            total_av[target_a] += average_av @ rotation_vv.T
        return total_av / len(self.representative_o)

    def tensor(self, value_vv: torch.Tensor) -> torch.Tensor:
        """1/N Σ_o R_o σ R_oᵀ of a Cartesian tensor, such as the stress."""
        rotation_ovv = value_vv.new_tensor(np.array(self.symmetry.rotation_ovv))
        return (rotation_ovv @ value_vv @ rotation_ovv.mT).mean(0)

    def _parts(self, bytes_of_one: int) -> Iterator[tuple[slice, bool]]:
        """Representatives that are applied together, and whether they exchange the spins; those that do come last."""
        flip_o = self.symmetry.spin_flip_o[self.representative_o]
        kept = int((~flip_o).sum())
        limit = CACHE_BLOCK_BYTES if self.phase_og.device.type == "cpu" else BLOCK_BYTES
        step = max(1, limit // bytes_of_one)
        for first, last in ((0, kept), (kept, len(flip_o))):
            for start in range(first, last, step):
                yield slice(start, min(start + step, last)), first == kept

    def _sphere(self, density_sg: torch.Tensor, spin: Spin) -> torch.Tensor:
        both_sx = torch.cat([density_sg, density_sg.conj_physical()], 1)
        total_sg = torch.zeros_like(density_sg)
        for o, flip in self._parts(density_sg.nbytes):
            place_og = self.place_og[o]
            moved_sog = both_sx.index_select(1, place_og.flatten()).unflatten(1, place_og.shape)
            total_sg += spin.rotated(moved_sog, self.axial_ovv[o], flip).mul_(self.phase_og[o]).sum(1)
        return total_sg

    def _occupancies(self, occupancy_sx: torch.Tensor, spin: Spin) -> torch.Tensor:
        layout = self.atoms.layout
        return layout.flatten([self._moved(s, layout.blocks(occupancy_sx, s), spin) for s in layout.species])

    def _moved(self, species: Species, block_saij: torch.Tensor, spin: Spin) -> torch.Tensor:
        """Average of M_o D(a) M_oᵀ, put where o moves a, over the group."""
        moves, rotation_oij = self.moves[species.setup.symbol], self.rotation_oij[species.setup.symbol]
        average_saij = moves.translated(block_saij.transpose(0, 1)).transpose(0, 1)
        total_saij = torch.zeros_like(block_saij)
        for o, flip in self._parts(block_saij.nbytes):
            source_oa = moves.source_oa[o]
            moved_soaij = average_saij.index_select(1, source_oa.flatten()).unflatten(1, source_oa.shape)
            moved_soaij = spin.rotated(moved_soaij, self.axial_ovv[o], flip)
            turned_soaij = torch.einsum("oik,soakj->soaij", rotation_oij[o], moved_soaij)
            total_saij += torch.einsum("soaik,ojk->saij", turned_soaij, rotation_oij[o])
        return total_saij / len(self.representative_o)


def make_symmetriser(symmetry: Symmetry, atoms: PawAtoms) -> Symmetriser:
    """Build the maps of a group on the density sphere."""
    runtime, species = atoms.runtime, atoms.layout.species
    representative_o, translation_o = _cosets(symmetry)
    index_gc = atoms.basis.index_gc[: atoms.basis.density_count].cpu().numpy()
    invariant_g = np.ones(len(index_gc), dtype=bool)
    for translation_c in symmetry.translation_oc[translation_o]:
        turn_g = index_gc @ translation_c
        invariant_g &= np.abs(turn_g - np.rint(turn_g)) < 1e-6
    rotation_occ = symmetry.rotation_occ[representative_o]
    source_og, conjugate_og = _sphere_maps(rotation_occ, index_gc)
    phase_og = np.exp(-2j * np.pi * (symmetry.translation_oc[representative_o] @ index_gc.T))
    phase_og *= np.take_along_axis(invariant_g[None], source_og, 1) / len(representative_o)
    rotation_ovv = symmetry.rotation_ovv[representative_o]
    rotation_oij = {
        s.setup.symbol: runtime.tensor(projector_rotation(rotation_ovv, s.setup.l_j))
        for s in species
    }
    moved = symmetry.atom_map_oa
    moves = {s.setup.symbol: _moves(moved, representative_o, translation_o, s.atom_a, runtime) for s in species}
    return Symmetriser(
        symmetry, atoms, representative_o, runtime.index(source_og + len(index_gc) * conjugate_og),
        runtime.tensor(phase_og, runtime.complex), runtime.tensor(axial(rotation_ovv)), rotation_oij, moves,
        _moves(moved, representative_o, translation_o, np.arange(moved.shape[1]), runtime),
    )


def _moves(
    map_oa: np.ndarray, representative_o: np.ndarray, translation_o: np.ndarray, atom_a: np.ndarray, runtime: Runtime
) -> Moves:
    """The moves of some atoms; a set of translated atoms is known by its first member."""
    place_a = np.zeros(map_oa.shape[1], dtype=np.int64)
    place_a[atom_a] = np.arange(len(atom_a))
    first_a = map_oa[translation_o][:, atom_a].min(axis=0)
    orbit_a = np.unique(first_a, return_inverse=True)[1].reshape(-1)
    member_ot = np.argsort(orbit_a, kind="stable").reshape(-1, len(translation_o))
    target_oa = place_a[map_oa[representative_o][:, atom_a]]
    return Moves(
        runtime.index(orbit_a), runtime.index(member_ot), runtime.index(target_oa),
        runtime.index(np.argsort(target_oa, axis=1)),
    )  # fmt: skip


def _cosets(symmetry: Symmetry) -> tuple[np.ndarray, np.ndarray]:
    """Indices of one operation for each pair (rotation, spin flip), flips last, and of the pure translations."""
    key_ox = np.column_stack([symmetry.rotation_occ.reshape(symmetry.order, 9), symmetry.spin_flip_o])
    representative_o = np.sort(np.unique(key_ox, axis=0, return_index=True)[1])
    representative_o = representative_o[np.argsort(symmetry.spin_flip_o[representative_o], kind="stable")]
    translation_o = np.flatnonzero((key_ox == key_ox[0]).all(axis=1))
    return representative_o, translation_o


def _sphere_maps(rotation_occ: np.ndarray, index_gc: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where each wave of the half sphere comes from under each rotation, and whether conjugated; (o, g)."""
    # one empty layer around the sphere, for waves that an inexact lattice would move across its surface
    reach_c = np.abs(index_gc).max(axis=0) + 1
    place = np.full(tuple(2 * reach_c + 1), -1, dtype=np.int64)
    place[tuple(index_gc.T)] = np.arange(len(index_gc))
    source_og, conjugate_og = [], []
    for rotation_cc in rotation_occ:
        moved_gc = np.clip(index_gc @ rotation_cc, -reach_c, reach_c)
        source_g, mirror_g = place[tuple(moved_gc.T)], place[tuple(-moved_gc.T)]
        if (np.maximum(source_g, mirror_g) < 0).any():
            raise InputError(
                "SYMPREC: the lattice vectors have the symmetry found only within the tolerance, so that plane waves "
                "at the cutoff have no partner. Give the lattice with more digits, lower SYMPREC, or set ISYM = 0."
            )
        source_og.append(np.where(source_g < 0, mirror_g, source_g))
        conjugate_og.append(source_g < 0)
    return np.array(source_og), np.array(conjugate_og)
