"""Magnetic fields inside the spheres of atoms, which hold moments that would die otherwise.

    E = -Σ_a h_a m_a,   m_a = Σ_ij (D↑ - D↓)_a,ij <φ_i|φ_j>    inside the matching radius;   ∂E/∂D_↑↓ = ∓h_a <φ_i|φ_j>

It is no part of any energy that is given: orbitals found with it are where a search begins.
"""

from typing import ClassVar

import numpy as np
import torch

from eigenwerk.dft.paw.atoms import PawAtoms
from eigenwerk.dft.terms.term import Charges, Contribution, Term


class LocalField(Term):
    """The fields of all atoms, for densities of two spins; no settings ask for it, a search does."""

    words: ClassVar = {"local field": "that holds moments, in no energy that is given"}

    def __init__(self, atoms: PawAtoms, field_a: np.ndarray):
        """field_a: h, hartree."""
        self._parts = [
            (
                atoms.runtime.tensor(field_a[species.atom_a]),
                atoms.runtime.tensor(species.setup.sphere_overlap_ij),
            )
            for species in atoms.layout.species
        ]

    def __call__(self, charges: Charges) -> Contribution:
        """Energy "local field" and its part of ΔH."""
        energies, blocks = [], []
        for (field_a, overlap_ij), block_saij in zip(self._parts, charges.blocks, strict=True):
            up_aij = -field_a[:, None, None] * overlap_ij
            derivative_saij = torch.stack([up_aij, -up_aij])
            energies.append((derivative_saij * block_saij.real).sum())
            blocks.append(derivative_saij)
        return Contribution(("local field",), torch.stack(energies).sum(0, keepdim=True), blocks={"occupancy": blocks})
