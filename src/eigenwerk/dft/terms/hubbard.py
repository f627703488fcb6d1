"""DFT+U in Dudarev's form: a penalty for fractional occupation of one shell of an atom.

    E_U = U_eff/2 Σ_aσ Tr[n_aσ - n_aσ n_aσ],    U_eff = U - J
    n_aσ,mm' = Σ_jj' D_aσ,jm,j'm' <φ_j|φ_j'>    inside the matching radius, over the channels j of the shell l
    ∂E_U/∂D_aσ,jm,j'm' = U_eff (1/2 δ_mm' - n_aσ,mm') <φ_j|φ_j'>

D are the one-centre occupancies, so the term is one more part of ΔH_ij and has no force of its own.  The overlaps end
at the smaller radius of the two channels and are not scaled to one for the bound state; occupations, and with them
energies, depend on that choice, which differs between programs and data sets.
Source: S. L. Dudarev, G. A. Botton, S. Y. Savrasov, C. J. Humphreys and A. P. Sutton, Phys. Rev. B 57, 1505 (1998);
occupations in PAW: O. Bengone, M. Alouani, P. Bloechl and J. Hugel, Phys. Rev. B 62, 16392 (2000).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
import torch

from eigenwerk.dft.density.kinds.occupancy import OCCUPANCY
from eigenwerk.dft.paw.atom_layout import Species
from eigenwerk.dft.paw.atoms import PawAtoms
from eigenwerk.dft.paw.radial import integrate
from eigenwerk.dft.paw.setup import Setup, matching_radius
from eigenwerk.dft.spin.form import Spin
from eigenwerk.dft.terms.term import Charges, Contribution, Scene, Term
from eigenwerk.errors import InputError
from eigenwerk.io.paw.dataset import PawDataset
from eigenwerk.parallel.runtime import Runtime

SHELLS = "spdf"


class Hubbard(Term):
    """The correction of all atoms that have one."""

    words: ClassVar = {"hubbard": "+U, for the occupations of shells"}
    needs = frozenset({OCCUPANCY})

    @classmethod
    def of(cls, scene: Scene) -> Self | None:
        """With LDAU."""
        return cls(scene.atoms, scene.parameters.hubbard) if scene.parameters.hubbard else None

    def __init__(self, atoms: PawAtoms, hubbard: Mapping[str, tuple[int, float]]):
        """hubbard: kind of atom (`Structure.kinds`) -> (l, U - J in hartree)."""
        self.parts = [_parts(atoms, species, hubbard) for species in atoms.layout.species]

    def __call__(self, charges: Charges) -> Contribution:
        """Energy "hubbard" and its part of ΔH."""
        energies, blocks = [], []
        for parts, block_saij in zip(self.parts, charges.blocks, strict=True):
            derivative_saij = torch.zeros_like(block_saij)
            for place_a, shell in parts:
                energy, part_saij = shell.energy(block_saij.index_select(1, place_a), charges.density.spin)
                derivative_saij.index_copy_(1, place_a, part_saij)
                energies.append(energy)
            blocks.append(derivative_saij)
        return Contribution(("hubbard",), torch.stack(energies).sum(0, keepdim=True), blocks={OCCUPANCY: blocks})


@dataclass(frozen=True)
class HubbardShell:
    """The correction for the shell l of one species.

    projector_jm: (j, m) indices of the shell's projectors; overlap_jj: <φ_j|φ_j'> inside the radius; u: U_eff, hartree.
    """

    projector_jm: torch.Tensor
    overlap_jj: torch.Tensor
    u: float

    def occupations(self, occupancy_saij: torch.Tensor, spin: Spin) -> torch.Tensor:
        """n of each component from occupancies D (s, a, i, i); (s, a, m, m), of channels with eigenvalues 0 to 1.

        One channel that holds both spins counts half: the matrix of both spins is (n + m·σ) / 2.
        """
        j, m = self.projector_jm.shape
        flat = self.projector_jm.flatten()
        shell_sajmjm = occupancy_saij[..., flat[:, None], flat].unflatten(-1, (j, m)).unflatten(2, (j, m))
        n_samm = torch.einsum("sajmkn,jk->samn", shell_sajmjm, self.overlap_jj.to(shell_sajmjm.dtype))
        return 0.5 * (n_samm + n_samm.mH) * (spin.channels / 2)

    def energy(self, occupancy_saij: torch.Tensor, spin: Spin) -> tuple[torch.Tensor, torch.Tensor]:
        """E_U of all atoms in hartree, a scalar on the device, and its derivative ∂E_U/∂D, (s, a, i, i)."""
        n_samm = self.occupations(occupancy_saij, spin)
        unit_samm = spin.by_components(torch.eye(n_samm.shape[-1], dtype=n_samm.dtype, device=n_samm.device))[:, None]
        holes_samm = unit_samm - n_samm
        energy = 0.5 * self.u * (2 / spin.channels) * (n_samm * holes_samm.mT).sum().real
        potential_samm = self.u * (0.5 * unit_samm - n_samm)
        j, m = self.projector_jm.shape
        block_sajmkn = torch.einsum("samn,jk->sajmkn", potential_samm, self.overlap_jj.to(potential_samm.dtype))
        derivative_saij, flat = torch.zeros_like(occupancy_saij), self.projector_jm.flatten()
        derivative_saij[..., flat[:, None], flat] = block_sajmkn.reshape(*n_samm.shape[:2], j * m, j * m)
        return energy, derivative_saij


def _parts(
    atoms: PawAtoms, species: Species, hubbard: Mapping[str, tuple[int, float]]
) -> list[tuple[torch.Tensor, HubbardShell]]:
    """Of one species: places of the atoms of each kind that has a correction, and that."""
    kinds = np.array(atoms.basis.structure.kinds)[species.atom_a]
    return [
        (atoms.runtime.index(np.flatnonzero(kinds == kind)), make_hubbard(species.setup, *hubbard[kind], atoms.runtime))
        for kind in dict.fromkeys(kinds.tolist())
        if kind in hubbard
    ]


def make_hubbard(setup: Setup, l: int, u: float, runtime: Runtime) -> HubbardShell:
    """The shell l of a species, U_eff in hartree.  Raises InputError if the data set has no such shell."""
    channels = [j for j, other in enumerate(setup.l_j) if other == l]
    if not channels:
        held = ", ".join(SHELLS[other] for other in sorted(set(setup.l_j)))
        raise InputError(
            f"INCAR: LDAUL = {l} for {setup.symbol}, but its data set {setup.dataset.name} has no {SHELLS[l]} channels "
            f"(it has {held}). Change LDAUL, or set it to -1 for {setup.symbol}."
        )
    projector_jm = np.array([np.flatnonzero(setup.j_i == j) for j in channels])
    return HubbardShell(runtime.index(projector_jm), runtime.tensor(_overlaps(setup.dataset, channels)), u)


def _overlaps(dataset: PawDataset, channels: list[int]) -> np.ndarray:
    """∫ φ_j φ_j' r² dr inside the smaller of the two channels' radii."""
    wave_jg, r_g = dataset.ae_partial_wave_jg, dataset.grid.r_g
    overlap_jj = np.zeros((len(channels), len(channels)))
    for row, one in enumerate(channels):
        for column, other in enumerate(channels):
            radius = min(_radius(dataset, one), _radius(dataset, other))
            overlap_jj[row, column] = integrate(dataset.grid, wave_jg[one] * wave_jg[other] * (r_g < radius))
    return overlap_jj


def _radius(dataset: PawDataset, j: int) -> float:
    """Matching radius of a channel; that of the data set where the file names none for it."""
    return dataset.states[j].rc or matching_radius(dataset)
