"""One-centre energies: all-electron minus pseudo, inside the augmentation spheres.

    ΔE(D) = ΔT_core + Σ ΔT_ij D_ij  +  C_0 + C_ij D_ij + D_x C_xx D_x  +  Z_0 + Z_ij D_ij
            + E_xc[n_c + Σ D φφ] - E_xc[ñ_c + Σ D φ̃φ̃]

(kinetic, electrostatic, zero potential, exchange-correlation; D summed over spins except in the last).
The exchange-correlation energy is integrated on radial grid x Lebedev points, so all angular shapes
of the density count.  There is no force at fixed D, which moves with the projectors (`projectors.py`).
"""

from typing import ClassVar, Self

import numpy as np
import torch

from eigenwerk.dft.crystal.symmetry import Symmetry
from eigenwerk.dft.density.kinds.occupancy import OCCUPANCY
from eigenwerk.dft.paw.atom_layout import Species
from eigenwerk.dft.paw.atoms import PawAtoms
from eigenwerk.dft.paw.equivalence import EquivalentAtoms, equivalent_atoms
from eigenwerk.dft.paw.setup import Setup
from eigenwerk.dft.paw.shells import highest_harmonic, make_shells, shell_energies
from eigenwerk.dft.paw.site_symmetry import SiteSymmetry, site_symmetry
from eigenwerk.dft.paw.spherical import sphere_quadrature
from eigenwerk.dft.spin.form import Spin
from eigenwerk.dft.terms.term import Charges, Contribution, Scene, Term
from eigenwerk.functionals.functional import Functional
from eigenwerk.parallel.runtime import Runtime

MANY_ATOMS_PER_RANK = 4
"""From this number of different atoms per rank on, ranks share atoms; below it they share the radii of each."""

ATOMS_PER_BATCH, ATOMS_PER_DEVICE_BATCH = 8, 64
"""Atoms whose densities are held on the angular mesh together, on a processor and on a GPU (bounds memory)."""


class OneCentre(Term):
    """The one-centre energies of all atoms."""

    words: ClassVar = {
        "kinetic": "of all electrons, what that of the smooth orbitals lacks", "electrostatic": "in spheres",
        "zero": "zero potential, in spheres", "xc": "exchange and correlation, in spheres",
    }  # fmt: skip
    needs = frozenset({OCCUPANCY})

    @classmethod
    def of(cls, scene: Scene) -> Self:
        """There always is one."""
        return cls(scene.atoms, scene.functional, scene.symmetry)

    def __init__(self, atoms: PawAtoms, functional: Functional, symmetry: Symmetry | None):
        """symmetry: of all densities to come; without it every atom is computed on its own."""
        self.runtime = atoms.runtime
        self.onsite = [onsite_terms(atoms, species, functional, symmetry) for species in atoms.layout.species]

    def __call__(self, charges: Charges) -> Contribution:
        """The four energies and ∂ΔE/∂D."""
        with self.runtime.trace.span("one-centre terms"):
            real_saij = [block_saij.real for block_saij in charges.blocks]
            found = onsite_energies(self.onsite, real_saij, charges.density.spin)
            energy_e = torch.stack([part_e for part_e, _ in found]).sum(0)
        return Contribution(tuple(self.words), energy_e, blocks={OCCUPANCY: [dH_saij for _, dH_saij in found]})


def onsite_terms(atoms: PawAtoms, species: Species, functional: Functional, symmetry: Symmetry | None) -> "OnsiteTerms":
    """Those of one species' atoms."""
    same, site = None, None
    if symmetry is not None:
        same = equivalent_atoms(symmetry, species.atom_a, species.setup.l_j, atoms.runtime)
        first_r = species.atom_a[same.first_r.cpu().numpy()]
        site = site_symmetry(symmetry, first_r, species.setup.l_j, atoms.runtime)
    return OnsiteTerms(species.setup, functional, atoms.runtime, species.count, same, site)


class OnsiteTerms:
    """One-centre energy of one species for one functional."""

    def __init__(
        self, setup: Setup, functional: Functional, runtime: Runtime, count: int,
        equivalent: EquivalentAtoms | None = None, site: SiteSymmetry | None = None,
    ):  # fmt: skip
        """count: atoms; equivalent: compute the exchange-correlation part once for atoms that symmetry makes equal;
        site: and, of these, in directions that symmetry does not make equal.
        """
        self.setup, self.functional, self.runtime = setup, functional, runtime
        self.equivalent, self.site = equivalent, site
        kinds = count if equivalent is None else len(equivalent.first_r)
        world, tensor = runtime.world, runtime.tensor
        self.by_radii = world.size > 1 and kinds < MANY_ATOMS_PER_RANK * world.size
        own = slice(world.rank, None, world.size) if self.by_radii else slice(None)
        self.shells = make_shells(setup, runtime, own, sphere_quadrature if site is None else site.directions)
        linear = setup.kinetic_ij, setup.coulomb_ij, setup.zero_ij
        self._linear_ex = tensor([*linear, np.zeros_like(setup.zero_ij)]).flatten(1)
        self._sum_ij, self._coulomb_xx = tensor(sum(linear)), tensor(setup.coulomb_xx)
        self._atom_e = tensor([setup.dataset.core_kinetic_energy, setup.coulomb_0, setup.zero_0, 0.0])
        harmonics = (highest_harmonic(setup) + 1) ** 2
        expand_xc = tensor(setup.expand_Lqx[:harmonics]).flatten(0, 1).T.contiguous()
        self._expand_xc = expand_xc
        self._collapse_cx = expand_xc.T if site is None else expand_xc.T @ site.average_xx

    def linear_and_electrostatic(self, occupancy_aij: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """All but exchange and correlation, of the total D: energies, (e,), and the derivative, (a, i, i)."""
        total_ax = occupancy_aij.flatten(1)
        coulomb_ax = total_ax @ self._coulomb_xx
        part_e = torch.addmv(self._atom_e, self._linear_ex, total_ax.sum(0), beta=len(total_ax))
        part_e[1] += torch.dot(coulomb_ax.view(-1), total_ax.view(-1))
        return part_e, torch.add(self._sum_ij, coulomb_ax.unflatten(1, self._sum_ij.shape), alpha=2)

    def different(self, occupancy_saij: torch.Tensor) -> torch.Tensor:
        """Occupancies of one atom of each kind, (s, r, i, i)."""
        same = self.equivalent
        return occupancy_saij if same is None else occupancy_saij.index_select(1, same.first_r)

    def own_kinds(self, count: int) -> torch.Tensor | None:
        """Which of so many kinds of atoms this rank computes; None for all."""
        world = self.runtime.world
        if world.size == 1 or self.by_radii:
            return None
        return torch.arange(world.rank, count, world.size, device=self.runtime.device)

    def channels(self, occupancy_srij: torch.Tensor) -> torch.Tensor:
        """D_Lq of the density in each (l, m); (s, r, L, q)."""
        return (occupancy_srij.flatten(2) @ self._expand_xc).unflatten(2, (-1, self.setup.expand_Lqx.shape[1]))

    def collapsed(self, derivative_srLq: torch.Tensor) -> torch.Tensor:
        """∂E/∂D_ij from ∂E/∂D_Lq, averaged over the rotations of the site; (s, r, i, i)."""
        return (derivative_srLq.flatten(2) @ self._collapse_cx).unflatten(2, self._sum_ij.shape)

    def spread(self, energy_r: torch.Tensor, block_srij: torch.Tensor, spin: Spin) -> tuple[torch.Tensor, torch.Tensor]:
        """Energy of all atoms and the derivative of each, from one of each kind."""
        same = self.equivalent
        if same is None:
            return energy_r.sum(), block_srij
        return energy_r @ same.count_r, same.spread(block_srij, spin)


def onsite_energies(
    terms: list[OnsiteTerms], occupancy_list: list[torch.Tensor], spin: Spin
) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Energies of `OneCentre.words` and ∂E/∂D (s, a, i, i) of several species, whose points are worked on together.

    Energies are sums over atoms, in hartree, on the device: nothing waits for them here.
    """
    different = [term.different(occupancy) for term, occupancy in zip(terms, occupancy_list, strict=True)]
    found = []
    for term, occupancy, xc in zip(terms, occupancy_list, exchange_correlation_of(terms, different), strict=True):
        part_e, common_aij = term.linear_and_electrostatic(spin.total(occupancy))
        energy, derivative_saij = term.spread(*xc, spin)
        part_e[3] += energy
        found.append((part_e, spin.by_components(common_aij) + derivative_saij))
    return found


def exchange_correlation_of(
    terms: list[OnsiteTerms], occupancy_list: list[torch.Tensor]
) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Energy, (r,), and its derivative, (s, r, i, i), of all these atoms, for each species.

    Of many atoms each rank computes some, of few some radii of all; one sum over ranks brings all together.
    """
    own_list = [
        term.own_kinds(occupancy.shape[1]) for term, occupancy in zip(terms, occupancy_list, strict=True)
    ]
    occupied = [
        occupancy if own is None else occupancy.index_select(1, own)
        for occupancy, own in zip(occupancy_list, own_list, strict=True)
    ]
    results = []
    for own, occupancy, (energy, block) in zip(own_list, occupancy_list, _each(terms, occupied), strict=True):
        if own is not None:
            energy = energy.new_zeros(occupancy.shape[1]).index_copy_(0, own, energy)
            block = torch.zeros_like(occupancy).index_copy_(1, own, block)
        results.append((energy, block))
    world = terms[0].runtime.world
    if world.size == 1:
        return results
    sizes = [part.numel() for result in results for part in result]
    whole = iter(world.sum(torch.cat([part.flatten() for result in results for part in result])).split(sizes))
    return [(next(whole), next(whole).view_as(block)) for _, block in results]


def _each(terms: list[OnsiteTerms], occupancy_list: list[torch.Tensor]) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Without other ranks, a limited number of atoms at a time."""
    device = terms[0].runtime.device
    limit = ATOMS_PER_BATCH if device.type == "cpu" else ATOMS_PER_DEVICE_BATCH
    channel_list = [term.channels(occupancy) for term, occupancy in zip(terms, occupancy_list, strict=True)]
    energies: list[list[torch.Tensor]] = [[] for _ in terms]
    derivatives: list[list[torch.Tensor]] = [[] for _ in terms]
    for batch in atom_batches([channel.shape[1] for channel in channel_list], limit):
        channels = [channel_list[n][:, atoms] for n, atoms in batch]
        found = shell_energies(channels, [terms[n].shells for n, _ in batch], terms[0].functional)
        for (n, _), (energy_a, derivative_saLq) in zip(batch, found, strict=True):
            energies[n].append(energy_a)
            derivatives[n].append(derivative_saLq)
    return [
        (joined(energies[n], 0, channel[0, :, 0, 0]), term.collapsed(joined(derivatives[n], 1, channel)))
        for n, (term, channel) in enumerate(zip(terms, channel_list, strict=True))
    ]


def joined(parts: list[torch.Tensor], axis: int, like: torch.Tensor) -> torch.Tensor:
    """The parts one after the other; zeros like `like`, if there are none."""
    if not parts:
        return torch.zeros_like(like)
    return parts[0] if len(parts) == 1 else torch.cat(parts, axis)


def atom_batches(counts: list[int], limit: int) -> list[list[tuple[int, slice]]]:
    """Which atoms of which species are computed together, at most `limit`: [(species, atoms), ...] for each batch."""
    batches: list[list[tuple[int, slice]]] = []
    room = 0
    for n, count in enumerate(counts):
        start = 0
        while start < count:
            if room == 0:
                batches.append([])
                room = limit
            stop = min(count, start + room)
            batches[-1].append((n, slice(start, stop)))
            room, start = room - (stop - start), stop
    return batches
