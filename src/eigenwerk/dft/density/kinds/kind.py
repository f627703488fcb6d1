"""What a field of the density is: how it is made of orbitals and of atoms, and what its derivative does to both.

A new field is a file beside this one.  Which fields a density carries is said where it
is made first: those that terms of the energy need, and what is asked for besides (`Calculation.fields`).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import pi, sqrt
from typing import ClassVar

import numpy as np
import torch

from eigenwerk.dft.basis.lattice import Lattice, length, square
from eigenwerk.dft.basis.wave_form import SphereMap, WaveForm
from eigenwerk.dft.crystal.structure import Structure
from eigenwerk.dft.paw.atoms import PawAtoms
from eigenwerk.dft.paw.setup import Setup

Local = Callable[[torch.Tensor], torch.Tensor]
"""The product of orbitals (k, n, G) with a potential."""


@dataclass(frozen=True)
class FilledOrbitals:
    """What a density is made of: orbitals of this group's k-points on this rank's plane waves, and their fillings.

    filling_skn: w_k g f, best in host memory; proj_sknI: their projections, if they are known; projector_kIG,
    sphere_map: tables in the precision of the orbitals.
    """

    atoms: PawAtoms
    coeff_sknG: torch.Tensor
    filling_skn: torch.Tensor
    proj_sknI: torch.Tensor | None
    projector_kIG: torch.Tensor
    sphere_map: SphereMap

    @staticmethod
    def of(
        atoms: PawAtoms, coeff_sknG: torch.Tensor, filling_skn: torch.Tensor, proj_sknI: torch.Tensor | None = None
    ) -> "FilledOrbitals":
        """In double precision; filling_skn: of all k-points."""
        own_skn = filling_skn[:, atoms.basis.own_k]
        return FilledOrbitals(atoms, coeff_sknG, own_skn, proj_sknI, atoms.projector_kIG, atoms.basis.sphere_map)


class FieldKind(ABC):
    """waves: complex coefficients on the density sphere, (s, g); else one-centre matrices in flat order, (s, x).

    screened: whether it is the charge that electrons screen, which mixing damps at long waves; measured: whether it
    counts where mixing compares densities: one that no energy depends on yet follows the others.
    """

    name: ClassVar[str]
    waves: ClassVar[bool] = True
    screened: ClassVar[bool] = False
    measured: ClassVar[bool] = True

    @abstractmethod
    def of_orbitals(self, orbitals: FilledOrbitals) -> torch.Tensor:
        """Sum over all orbitals of all ranks, not symmetrised."""

    @abstractmethod
    def of_atoms(
        self, atoms: PawAtoms, occupancies: Sequence[np.ndarray], place: Structure | None = None
    ) -> torch.Tensor:
        """That of free atoms with so many electrons in their channels, (s, a, j) of each species.

        place: another structure of these atoms, whose waves have the same integers; per volume of this cell.
        """


class WaveField(FieldKind):
    """A field on plane waves, which is a scalar; its declaration is what follows and `of_orbitals`."""

    @abstractmethod
    def of_channels(self, setup: Setup) -> np.ndarray:
        """4π times its spherical average for one electron in each channel of a free atom, (j, g)."""

    @abstractmethod
    def of_core(self, setup: Setup) -> np.ndarray:
        """That of the smooth core, f(r) of f Y_00."""

    def act(self, form: WaveForm, x_knG: torch.Tensor, vector_vkG: torch.Tensor, local: Local) -> torch.Tensor:
        """What a derivative v by the field does to orbitals, δ(∫ v f)/δψ*: a product for what is made of their squares.

        vector_vkG: k+G of each number of a vector; local: v ψ.
        """
        return local(x_knG)

    def strained(self, orbitals: FilledOrbitals, slope_sg: torch.Tensor) -> torch.Tensor | None:
        """∂/∂ε of ∫ v f at fixed coefficients of orbitals and of v, beside what the volume does; (3, 3), of all ranks.

        None for what depends on no direction.
        """
        return None

    def of_electrons(self, setup: Setup, occupancy_j: np.ndarray) -> np.ndarray:
        """That of so many electrons in the channels of a free atom, f(r) of f Y_00."""
        return occupancy_j @ self.of_channels(setup) / sqrt(4 * pi)

    def of_atoms(
        self, atoms: PawAtoms, occupancies: Sequence[np.ndarray], place: Structure | None = None
    ) -> torch.Tensor:
        """Σ_a Σ_j n_j f_j/4π exp(-i g·R_a), (s, g)."""
        count, total_sg = atoms.basis.density_count, None
        for species, occupancy_saj in zip(atoms.layout.species, occupancies, strict=True):
            setup, radial_jg = species.setup, self.of_channels(species.setup)
            used_j = np.flatnonzero(setup.atom_occupancy_j > 0)
            used_j = used_j if len(used_j) else np.array([0])
            factors, length_g = atoms.structure_factors(species, count), atoms.length_g[:count]
            if place is not None:
                factors = replace(factors, scaled_ac=atoms.runtime.tensor(place.scaled_ac[species.atom_a]))
                lattice = Lattice(torch.tensor(place.lattice_cv), length_g.device)
                length_g = length(square(lattice.waves(atoms.basis.index_gc[:count])))
            # f/4π = [f/sqrt(4π)] Y_00
            shapes = [atoms.form_factor_g(setup, radial_jg[j] / sqrt(4 * pi), count, length_g) for j in used_j]
            shape_jg, weight_sja = torch.stack(shapes), atoms.runtime.tensor(occupancy_saj[:, :, used_j]).mT
            part_sg = torch.stack([(factors.waves(weight_ja, count) * shape_jg).sum(0) for weight_ja in weight_sja])
            total_sg = part_sg if total_sg is None else total_sg + part_sg
        assert total_sg is not None
        return total_sg


def filled_bands(filling_xn: torch.Tensor) -> int:
    """How many bands hold electrons anywhere, with all below them; (..., n)."""
    used_n = torch.nonzero((filling_xn.abs() > 1e-14).flatten(0, -2).any(0)).flatten()
    return int(used_n.max()) + 1 if len(used_n) else 0
