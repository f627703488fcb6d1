"""The effective potential of a density: what the orbitals feel, and the energy it comes from."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import torch
from torch.nn.functional import pad

from eigenwerk.dft.basis.grid_orbits import GridOrbits, grid_orbits
from eigenwerk.dft.crystal.symmetry import Symmetry
from eigenwerk.dft.density import Density
from eigenwerk.dft.paw.atoms import PawAtoms
from eigenwerk.dft.paw.equivalence import equivalent_atoms
from eigenwerk.dft.paw.onsite import OnsiteTerms, onsite_energies
from eigenwerk.dft.paw.site_symmetry import site_symmetry
from eigenwerk.dft.terms.hartree import hartree
from eigenwerk.dft.terms.hubbard import make_hubbard
from eigenwerk.dft.terms.xc import exchange_correlation
from eigenwerk.functionals.functional import DENSITY, Functional

TERMS: tuple[str, ...] = ("kinetic", "electrostatic", "zero", "xc")
"""Names of the energies that every density has."""


@dataclass(frozen=True)
class Potential:
    """Effective potential and the energy terms that depend on the density alone.

    potential_sg: ṽ(g) on the density sphere, hartree; hamiltonian_sx: one-centre ΔH_ij in flat order;
    hartree_g: electrostatic potential on its sphere; names, term_e: the energies in hartree (each with its one-centre
    part), on the device so that nothing waits for them.
    """

    potential_sg: torch.Tensor
    hamiltonian_sx: torch.Tensor
    hartree_g: torch.Tensor
    xc_sg: torch.Tensor
    names: tuple[str, ...]
    term_e: torch.Tensor

    @cached_property
    def terms(self) -> Mapping[str, float]:
        """Energies in hartree by name."""
        return dict(zip(self.names, self.term_e.tolist(), strict=True))

    @property
    def energy(self) -> float:
        """Sum of the terms, hartree."""
        return sum(self.terms.values())


class PotentialBuilder:
    """Density -> Potential for one structure and functional."""

    def __init__(
        self,
        atoms: PawAtoms,
        functional: Functional,
        symmetry: Symmetry | None = None,
        hubbard: Mapping[str, tuple[int, float]] | None = None,
    ):
        """symmetry: of all densities to come; without it every atom and point is computed on its own.

        hubbard: element -> (l, U - J in hartree) of the shells with a +U correction.
        """
        self.atoms, self.functional = atoms, functional
        self._latest: tuple[Density, Potential] | None = None
        self.orbits: GridOrbits | None = None
        # on a GPU the functional is one kernel, which costs less than finding points and putting them back
        if symmetry is not None and atoms.runtime.device.type == "cpu":
            self.orbits = grid_orbits(symmetry, atoms.basis.grids.fine, atoms.runtime)
        setups = {species.setup.symbol: species.setup for species in atoms.layout.species}
        self.hubbard = {
            symbol: make_hubbard(setups[symbol], l, u, atoms.runtime) for symbol, (l, u) in (hubbard or {}).items()
        }
        self.onsite: list[OnsiteTerms] = []
        for s in atoms.layout.species:
            same, site = None, None
            if symmetry is not None:
                same = equivalent_atoms(symmetry, s.atom_a, s.setup.l_j, atoms.runtime)
                first_r = s.atom_a[same.first_r.cpu().numpy()]
                site = site_symmetry(symmetry, first_r, s.setup.l_j, atoms.runtime)
            self.onsite.append(OnsiteTerms(s.setup, functional, atoms.runtime, s.count, same, site))

    def __call__(self, density: Density) -> Potential:
        """Potential and energies of a density; the last answer is kept, since forces ask for it once more."""
        if self._latest is None or self._latest[0] is not density:
            self._latest = density, self._build(density)
        return self._latest[1]

    def _build(self, density: Density) -> Potential:
        """See the terms' own files for the equations."""
        atoms, basis = self.atoms, self.atoms.basis
        smooth_sg = density.density_sg + density.spin.unpolarised(atoms.pseudo_core_g)
        total_g = smooth_sg.sum(0)
        charge_g = atoms.compensation_charge(density.occupancy_sx)
        charge_g = charge_g + pad(total_g, (0, charge_g.shape[0] - total_g.shape[0]))
        hartree_energy, hartree_g = hartree(charge_g, basis)
        with basis.runtime.trace.span("exchange-correlation"):
            xc_energy, derivative = exchange_correlation({DENSITY: smooth_sg}, basis, self.functional, self.orbits)
            xc_sg = derivative[DENSITY]
        potential_sg = hartree_g[: basis.density_count] + atoms.zero_potential_g + xc_sg
        zero_energy = basis.inner(atoms.zero_potential_g, total_g)
        term_e = pad(torch.stack([hartree_energy, zero_energy, xc_energy]), (1, 0))
        with basis.runtime.trace.span("one-centre terms"):
            hamiltonian_sx, part_e, hubbard = self._one_centre(density, hartree_g)
        term_e, names = term_e + part_e, TERMS
        if hubbard is not None:
            term_e, names = torch.cat([term_e, hubbard[None]]), (*TERMS, "hubbard")
        return Potential(potential_sg, hamiltonian_sx, hartree_g, xc_sg, names, term_e)

    def _one_centre(
        self, density: Density, hartree_g: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]:
        """ΔH_ij = Σ_L Δ_Lij ∫ v_H g_L + ∂ΔE/∂D_ij; the one-centre energies of `TERMS`, and that of +U."""
        atoms, blocks, hubbard = self.atoms, [], None
        occupancies = [atoms.layout.blocks(density.occupancy_sx, species) for species in atoms.layout.species]
        results = onsite_energies(self.onsite, occupancies)
        moments = atoms.compensation_potential(hartree_g)
        for (species, potential_aL), occupancy_saij, result in zip(moments, occupancies, results, strict=True):
            multipole_Lx = atoms.constant(species.setup, "multipole_Lij").flatten(1)
            block_saij = result.hamiltonian_saij + (potential_aL @ multipole_Lx).view(occupancy_saij.shape[1:])
            if species.setup.symbol in self.hubbard:
                energy, correction_saij = self.hubbard[species.setup.symbol].energy(occupancy_saij)
                hubbard = energy if hubbard is None else hubbard + energy
                block_saij = block_saij + correction_saij
            blocks.append(block_saij)
        return atoms.layout.flatten(blocks), torch.stack([result.part_e for result in results]).sum(0), hubbard
