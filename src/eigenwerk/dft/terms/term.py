"""What a term of the energy is, and the forms of a density that several terms need.

A term is a function of the fields of the density and of the positions of the atoms, E(ñ_s + ñ_c, D_s; R).  All terms
see the smooth cores ñ_c in the sum with ñ, so what ñ_c does to forces follows from the sum of all derivatives.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar, Self

import torch
from torch.nn.functional import pad

from eigenwerk.dft.crystal.symmetry import Symmetry
from eigenwerk.dft.density.density import Density
from eigenwerk.dft.density.fields import Fields
from eigenwerk.dft.density.kinds.occupancy import OCCUPANCY
from eigenwerk.dft.paw.atoms import PawAtoms, RadialChoice
from eigenwerk.dft.settings.parameters import Parameters
from eigenwerk.functionals.functional import DENSITY, Functional
from eigenwerk.functionals.table import find_functional


@dataclass(frozen=True)
class Scene:
    """What the terms of a calculation are made for.

    symmetry: of all densities to come; without it every atom and point is computed on its own.
    """

    atoms: PawAtoms
    parameters: Parameters
    symmetry: Symmetry | None = None

    @cached_property
    def functional(self) -> Functional:
        """The functional, of a hybrid its semilocal part."""
        return find_functional(self.parameters.functional, self.parameters.hybrid)

    @property
    def semilocal(self) -> "Scene":
        """The same with the functional that a hybrid is made of, whole."""
        return replace(self, parameters=replace(self.parameters, hybrid=None))


@dataclass(frozen=True)
class Charges:
    """A density as terms need it: with smooth cores and compensation charges, each form made once."""

    atoms: PawAtoms
    density: Density

    @cached_property
    def smooth_sg(self) -> torch.Tensor:
        """ñ_s + ñ_c on the density sphere, each component with its part of the cores."""
        return self.density.density_sg + self.density.spin.of_total(self.atoms.pseudo_core_g)

    @cached_property
    def total_g(self) -> torch.Tensor:
        """ñ + ñ_c, summed over spins."""
        return self.density.spin.total(self.smooth_sg)

    @cached_property
    def occupancy_x(self) -> torch.Tensor:
        """D summed over spins, as electrostatics feels it: real."""
        return self.density.spin.total(self.density.occupancy_sx.real)

    @cached_property
    def charge_g(self) -> torch.Tensor:
        """ρ = ñ + ñ_c + n̂ on the electrostatic sphere."""
        charge_g = self.atoms.compensation_charge(self.occupancy_x)
        return charge_g + pad(self.total_g, (0, len(charge_g) - len(self.total_g)))

    @cached_property
    def blocks(self) -> list[torch.Tensor]:
        """D of each species' atoms, (s, a, i, i)."""
        return [self.atoms.layout.blocks(self.density.occupancy_sx, species) for species in self.atoms.layout.species]


@dataclass(frozen=True)
class LowRank:
    """A part Σ_mm' |ξ_m> w_mm' <ξ_m'| of H: what acts on orbitals and is neither local nor between projectors.

    row_skmG: ξ of this group's k-points on this rank's plane waves, vectors of the form of the orbitals; weight_smm: w,
    Hermitian, hartree; what depends on k is in the rows.
    """

    row_skmG: torch.Tensor
    weight_smm: torch.Tensor

    @staticmethod
    def joined(parts: Sequence["LowRank"]) -> "LowRank | None":
        """The sum of several; None of none."""
        if len(parts) < 2:
            return parts[0] if parts else None
        weights_s = zip(*(part.weight_smm for part in parts), strict=True)
        weight_smm = torch.stack([torch.block_diag(*weights) for weights in weights_s])
        return LowRank(torch.cat([part.row_skmG for part in parts], 2), weight_smm)


@dataclass(frozen=True)
class Contribution:
    """What a term gives for a density.

    names, energy_e: energies in hartree, on the device so that nothing waits for them; terms may share a name.
    waves, blocks: the derivative by each field of the density that the term knows, as (g,) or (s, g), or as matrices of
    each species, (a, i, i) or (s, a, i, i); rows: what it adds to H in another form; rows_counted: what these give to
    the energies of the bands, hartree, for the orbitals that they were made of; constants: energies that no density
    changes, hartree, by name, which are asked for when all energies are.
    """

    names: tuple[str, ...]
    energy_e: torch.Tensor
    waves: Mapping[str, torch.Tensor] = field(default_factory=dict)
    blocks: Mapping[str, list[torch.Tensor]] = field(default_factory=dict)
    rows: LowRank | None = None
    rows_counted: float = 0.0
    constants: Mapping[str, Callable[[], float]] = field(default_factory=dict)


@dataclass(frozen=True)
class OrbitalDerivatives:
    """What moving atoms and straining the cell do to a term that depends on the orbitals themselves.

    force_av: -∂E/∂R at fixed orbitals and projections, hartree per bohr, over all ranks; strain_vv: ∂E/∂ε at fixed
    coefficients and projections, hartree, of this rank's orbitals; pencil_sknI: f_n c_nI of this group's orbitals that
    hold electrons, where Σ_I p̃_I c_nI is what the term adds to H ψ̃_n between projectors; energy: of these orbitals,
    hartree, over all ranks.
    """

    force_av: torch.Tensor
    strain_vv: torch.Tensor
    pencil_sknI: torch.Tensor
    energy: float


class Term(ABC):
    """A part of the energy; its equations, derivatives, forces and what strain does to it stand in its own file.

    What it costs is counted from its settings without PyTorch (dft/plan).  words: names of its energies, and what they
    are; needs: fields of the density that it depends on.
    """

    words: ClassVar[Mapping[str, str]]
    needs: frozenset[str] = frozenset({DENSITY, OCCUPANCY})

    @classmethod
    def of(cls, scene: Scene) -> Self | None:
        """The term of a calculation (dft/energy_terms.py); None where its settings do not ask for it."""
        return None

    @abstractmethod
    def __call__(self, charges: Charges) -> Contribution:
        """Energies and derivatives."""

    def strained(self, charges: Charges, atoms: PawAtoms) -> torch.Tensor | None:
        """A number that depends on the cell of `atoms` as E does at fixed coefficients of ñ + ñ_c and fixed D.

        Its derivative by strain is asked for at the cell of `charges`, not its value.  None where E does not depend.
        """
        return None

    def forces(self, charges: Charges) -> torch.Tensor | None:
        """-∂E/∂R at fixed ñ + ñ_c and D, (a, 3) in hartree per bohr; None where nothing else moves with the atoms."""
        return None

    def second(self, charges: Charges, change: Fields) -> Contribution:
        """How the derivative changes to first order in a change of the fields; the energy is that of second order.

        NotImplementedError of terms that do not know it yet.
        """
        raise NotImplementedError(f"the second derivative of {type(self).__name__}")

    def orbital_derivatives(self, coeff_sknG: torch.Tensor, filling_skn: torch.Tensor) -> OrbitalDerivatives | None:
        """Forces and strain of what depends on the orbitals and not on densities alone; None for most terms.

        filling_skn = w_k g f: of all points, in host memory.
        """
        return None


def spherical_forces(atoms: PawAtoms, radial_of: RadialChoice, field_g: torch.Tensor) -> torch.Tensor:
    """-∂/∂R_a ∫ v(r) Σ_a f_a(r - R_a) d³r of spherical functions, f(r) Y_00 with f = radial_of(setup); (a, 3).

    ∂/∂R of exp(-i g·R) is -i g exp(-i g·R).
    """
    return -spherical_integrals(atoms, radial_of, field_slopes(atoms, field_g)).T


def spherical_integrals(atoms: PawAtoms, radial_of: RadialChoice, weighted_xg: torch.Tensor) -> torch.Tensor:
    """Re Σ_g w_xg f_a(g) exp(-i g·R_a) of such functions; w: fields v*(g) with the weights of an integral; (x, a)."""
    count = weighted_xg.shape[-1]
    value_xa = weighted_xg.real.new_zeros((len(weighted_xg), len(atoms.basis.structure.symbols)))
    for species in atoms.layout.species:
        form_g = atoms.form_factor_g(species.setup, radial_of(species.setup), count)
        of_species_xa = atoms.structure_factors(species, count).atoms(form_g * weighted_xg).real
        value_xa[:, torch.as_tensor(species.atom_a, device=value_xa.device)] = of_species_xa
    return value_xa


def field_slopes(atoms: PawAtoms, field_g: torch.Tensor) -> torch.Tensor:
    """-i g v*(g) with the weights of an integral over the cell; (3, g)."""
    basis, count = atoms.basis, len(field_g)
    weighted_g = field_g.conj() * (basis.weight_g[:count] * basis.volume)
    return -1j * basis.vector_gv[:count].T.to(atoms.runtime.complex) * weighted_g
