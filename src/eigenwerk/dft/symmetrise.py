"""Symmetrised densities and one-centre occupancies.

An operation x -> W x + t of the crystal leaves the density unchanged, n_s(W x + t) = n_s'(x), where
s' is the other spin for operations that flip all moments.  In reciprocal space, for integer g,

    n_s(g) = 1/N Σ_o n_s'(W_oᵀ g) exp(-2πi g·t_o),

and for the occupancies of the atom that o moves a to,  D(o a) = 1/N Σ_o M_o D(a) M_oᵀ, where
Y_i(R x) = Σ_j M_ij Y_j(x).
"""

from dataclasses import dataclass

import numpy as np
import torch

from eigenwerk.dft.density import Density
from eigenwerk.dft.paw.atoms import PawAtoms, Species
from eigenwerk.dft.paw.equivalence import projector_rotation
from eigenwerk.dft.symmetry import Symmetry
from eigenwerk.errors import InputError


@dataclass(frozen=True)
class Symmetriser:
    """Averages over a group G, as coset representatives times pure translations T.

    A supercell may have thousands of operations but at most 96 representatives (rotation, spin flip).
    invariant_g: 1 where exp(-2πi g·t) = 1 for all of T, else 0 (the average over T); source_og,
    conjugate_og, phase_og: index maps of the representatives; rotation_oij: M of the representatives by
    species; map_oa, shift_oa: where the representatives and T move the atoms.
    """

    symmetry: Symmetry
    atoms: PawAtoms
    representative_o: np.ndarray
    translation_o: np.ndarray
    invariant_g: torch.Tensor
    source_og: torch.Tensor
    conjugate_og: torch.Tensor
    phase_og: torch.Tensor
    rotation_oij: dict[str, torch.Tensor]

    def __call__(self, density: Density) -> Density:
        """Average of the density over the group."""
        if self.symmetry.order == 1:
            return density
        return Density(self._sphere(density.density_sg), self._occupancies(density.occupancy_sx))

    def forces(self, force_av: torch.Tensor) -> torch.Tensor:
        """F(o a) = 1/N Σ_o R_o F(a)."""
        total_av = torch.zeros_like(force_av)
        rotation_ovv = force_av.new_tensor(np.array(self.symmetry.rotation_ovv))
        for map_a, rotation_vv in zip(self.symmetry.atom_map_oa, rotation_ovv, strict=True):
            total_av[torch.tensor(map_a, device=force_av.device)] += force_av @ rotation_vv.T
        return total_av / self.symmetry.order

    def _sphere(self, density_sg: torch.Tensor) -> torch.Tensor:
        density_sg = density_sg * self.invariant_g
        total_sg = torch.zeros_like(density_sg)
        for o, flip in enumerate(self.symmetry.spin_flip_o[self.representative_o]):
            moved_sg = density_sg[:, self.source_og[o]]
            moved_sg = torch.where(self.conjugate_og[o], moved_sg.conj(), moved_sg) * self.phase_og[o]
            total_sg += moved_sg.flip(0) if flip else moved_sg
        return total_sg / len(self.representative_o)

    def _occupancies(self, occupancy_sx: torch.Tensor) -> torch.Tensor:
        blocks = []
        for species in self.atoms.layout.species:
            block_saij = self.atoms.layout.blocks(occupancy_sx, species)
            rotation_oij = self.rotation_oij[species.setup.symbol]
            averaged_saij = self._moved(species, block_saij, self.translation_o, None)
            blocks.append(self._moved(species, averaged_saij, self.representative_o, rotation_oij))
        return self.atoms.layout.flatten(blocks)

    def _moved(
        self, species: Species, block_saij: torch.Tensor, chosen_o: np.ndarray, rotation_oij: torch.Tensor | None
    ) -> torch.Tensor:
        """Average of M_o D(a) M_oᵀ, put where o moves a, over some operations; no M means the identity."""
        local_a = np.zeros(self.symmetry.atom_map_oa.shape[1], dtype=np.int64)
        local_a[species.atom_a] = np.arange(species.count)
        total_saij = torch.zeros_like(block_saij)
        for n, o in enumerate(chosen_o):
            moved_saij = block_saij
            if rotation_oij is not None:
                moved_saij = rotation_oij[n] @ block_saij @ rotation_oij[n].T
            if self.symmetry.spin_flip_o[o]:
                moved_saij = moved_saij.flip(0)
            target_a = torch.tensor(local_a[self.symmetry.atom_map_oa[o, species.atom_a]], device=block_saij.device)
            total_saij[:, target_a] += moved_saij
        return total_saij / len(chosen_o)


def make_symmetriser(symmetry: Symmetry, atoms: PawAtoms) -> Symmetriser:
    """Build the maps of a group on the density sphere."""
    runtime = atoms.runtime
    representative_o, translation_o = _cosets(symmetry)
    index_gc = atoms.basis.index_gc[: atoms.basis.density_count].cpu().numpy()
    turn_og = symmetry.translation_oc[translation_o] @ index_gc.T
    invariant_g = (np.abs(turn_og - np.rint(turn_og)) < 1e-6).all(axis=0)
    rotation_occ = symmetry.rotation_occ[representative_o]
    source_og, conjugate_og = _sphere_maps(rotation_occ, index_gc)
    phase_og = np.exp(-2j * np.pi * (symmetry.translation_oc[representative_o] @ index_gc.T))
    rotation_ovv = symmetry.rotation_ovv[representative_o]
    rotation_oij = {
        s.setup.symbol: runtime.tensor([projector_rotation(rotation_vv, s.setup.l_j) for rotation_vv in rotation_ovv])
        for s in atoms.layout.species
    }
    return Symmetriser(
        symmetry, atoms, representative_o, translation_o, runtime.tensor(invariant_g), runtime.index(source_og),
        runtime.tensor(conjugate_og, torch.bool), runtime.tensor(phase_og, runtime.complex), rotation_oij,
    )


def _cosets(symmetry: Symmetry) -> tuple[np.ndarray, np.ndarray]:
    """Indices of one operation for each pair (rotation, spin flip), and of the pure translations."""
    key_ox = np.column_stack([symmetry.rotation_occ.reshape(symmetry.order, 9), symmetry.spin_flip_o])
    representative_o = np.sort(np.unique(key_ox, axis=0, return_index=True)[1])
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
