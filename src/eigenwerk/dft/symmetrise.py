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

from eigenwerk.dft.basis import PlaneWaveBasis
from eigenwerk.dft.density import Density
from eigenwerk.dft.paw.atoms import PawAtoms
from eigenwerk.dft.rotations import real_harmonics_rotation
from eigenwerk.dft.symmetry import Symmetry
from eigenwerk.errors import InputError


@dataclass(frozen=True)
class Symmetriser:
    """Index maps of all operations: source_og (o, g), phase_og, conjugate_og; rotations per species."""

    symmetry: Symmetry
    atoms: PawAtoms
    source_og: torch.Tensor
    conjugate_og: torch.Tensor
    phase_og: torch.Tensor
    rotation_loij: dict[str, torch.Tensor]

    def __call__(self, density: Density) -> Density:
        """Average of the density over the group."""
        if len(self.symmetry.rotation_occ) == 1:
            return density
        return Density(self._sphere(density.density_sg), self._occupancies(density.occupancy_sx))

    def _sphere(self, density_sg: torch.Tensor) -> torch.Tensor:
        total_sg = torch.zeros_like(density_sg)
        for o, flip in enumerate(self.symmetry.spin_flip_o):
            moved_sg = density_sg[:, self.source_og[o]]
            moved_sg = torch.where(self.conjugate_og[o], moved_sg.conj(), moved_sg) * self.phase_og[o]
            total_sg += moved_sg.flip(0) if flip else moved_sg
        return total_sg / len(self.symmetry.rotation_occ)

    def _occupancies(self, occupancy_sx: torch.Tensor) -> torch.Tensor:
        flip_o = torch.tensor(np.array(self.symmetry.spin_flip_o), device=occupancy_sx.device)
        blocks = []
        for species in self.atoms.layout.species:
            block_saij = self.atoms.layout.blocks(occupancy_sx, species)
            rotation_oij = self.rotation_loij[species.setup.symbol]
            moved_osaij = torch.einsum("oij,sajk,olk->osail", rotation_oij, block_saij, rotation_oij)
            moved_osaij = torch.where(flip_o[:, None, None, None, None], moved_osaij.flip(1), moved_osaij)
            local_a = {int(a): n for n, a in enumerate(species.atom_a)}
            target_oa = np.vectorize(local_a.__getitem__)(self.symmetry.atom_map_oa[:, species.atom_a])
            total_saij = torch.zeros_like(block_saij)
            for o, target_a in enumerate(target_oa):
                total_saij[:, torch.as_tensor(target_a, device=occupancy_sx.device)] += moved_osaij[o]
            blocks.append(total_saij / len(rotation_oij))
        return self.atoms.layout.flatten(blocks)

    def forces(self, force_av: torch.Tensor) -> torch.Tensor:
        """F(o a) = 1/N Σ_o R_o F(a)."""
        total_av = torch.zeros_like(force_av)
        rotation_ovv = force_av.new_tensor(np.asarray(self.symmetry.rotation_ovv))
        for o, rotation_vv in enumerate(rotation_ovv):
            target_a = torch.tensor(self.symmetry.atom_map_oa[o], device=force_av.device)
            total_av[target_a] += force_av @ rotation_vv.T
        return total_av / len(rotation_ovv)


def make_symmetriser(symmetry: Symmetry, atoms: PawAtoms) -> Symmetriser:
    """Build the maps of a group on the density sphere."""
    basis = atoms.basis
    source_og, conjugate_og, phase_og = _sphere_maps(symmetry, basis)
    rotation = {s.setup.symbol: _projector_rotations(symmetry, s.setup.l_j) for s in atoms.layout.species}
    runtime = basis.runtime
    return Symmetriser(
        symmetry, atoms, runtime.index(source_og), runtime.tensor(conjugate_og, torch.bool),
        runtime.tensor(phase_og, runtime.complex), {name: runtime.tensor(m) for name, m in rotation.items()},
    )


def _sphere_maps(symmetry: Symmetry, basis: PlaneWaveBasis) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Where each wave of the half sphere comes from under each operation, conjugated or not, and its phase."""
    index_gc = basis.index_gc[: basis.density_count].cpu().numpy()
    # one empty layer around the sphere, for waves that an inexact lattice would move across its surface
    reach_c = np.abs(index_gc).max(axis=0) + 1
    place = np.full(tuple(2 * reach_c + 1), -1, dtype=np.int64)
    place[tuple(index_gc.T)] = np.arange(len(index_gc))
    source_og, conjugate_og = [], []
    for rotation_cc in symmetry.rotation_occ:
        moved_gc = np.clip(index_gc @ rotation_cc, -reach_c, reach_c)
        source_g, mirror_g = place[tuple(moved_gc.T)], place[tuple(-moved_gc.T)]
        if (np.maximum(source_g, mirror_g) < 0).any():
            raise InputError(
                "SYMPREC: the lattice vectors have the symmetry found only within the tolerance, so that plane waves "
                "at the cutoff have no partner. Give the lattice with more digits, lower SYMPREC, or set ISYM = 0."
            )
        source_og.append(np.where(source_g < 0, mirror_g, source_g))
        conjugate_og.append(source_g < 0)
    phase_og = np.exp(-2j * np.pi * (symmetry.translation_oc @ index_gc.T))
    return np.array(source_og), np.array(conjugate_og), phase_og


def _projector_rotations(symmetry: Symmetry, l_j: tuple[int, ...]) -> np.ndarray:
    """M_o of all projectors of a species, block diagonal over channels; (o, i, i)."""
    size = sum(2 * l + 1 for l in l_j)
    rotation_oij = np.zeros((len(symmetry.rotation_occ), size, size))
    for o, rotation_vv in enumerate(symmetry.rotation_ovv):
        start = 0
        for l in l_j:
            stop = start + 2 * l + 1
            rotation_oij[o, start:stop, start:stop] = real_harmonics_rotation(l, rotation_vv)
            start = stop
    return rotation_oij
