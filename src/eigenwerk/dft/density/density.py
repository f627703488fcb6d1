"""The density of valence electrons: its fields, those of superposed atoms, and what moves with atoms.

The smooth part without cores and one-centre occupancies are there always, with g = 2 for one spin channel and 1 for two
and occupations f in 0..1; others where they are asked for.
"""

from collections.abc import Collection, Iterable
from dataclasses import replace
from math import sqrt
from typing import Self

import numpy as np
import torch

from eigenwerk.dft.crystal.structure import Structure
from eigenwerk.dft.density.fields import Fields
from eigenwerk.dft.density.kinds.kind import FilledOrbitals
from eigenwerk.dft.density.kinds.occupancy import OCCUPANCY
from eigenwerk.dft.density.kinds.table import ALWAYS, KINDS, WAVES
from eigenwerk.dft.paw.atoms import PawAtoms
from eigenwerk.dft.paw.setup import Setup
from eigenwerk.dft.spin.form import COLLINEAR, UNPOLARISED, Spin
from eigenwerk.functionals.functional import DENSITY


class Density(Fields):
    """Valence density of a state: the smooth density (s, g), occupancies (s, x), and what else it carries."""

    @staticmethod
    def of(density_sg: torch.Tensor, occupancy_sx: torch.Tensor, spin: Spin) -> "Density":
        """From its two parts."""
        return Density({DENSITY: density_sg, OCCUPANCY: occupancy_sx}, spin)

    @property
    def density_sg(self) -> torch.Tensor:
        """The smooth part on the density sphere."""
        return self.value[DENSITY]

    @property
    def occupancy_sx(self) -> torch.Tensor:
        """D of all atoms in flat order."""
        return self.value[OCCUPANCY]

    def with_smooth(self, density_sg: torch.Tensor) -> Self:
        """The same with another smooth part."""
        return replace(self, value={**self.value, DENSITY: density_sg})


def electrons_of(density: Density, atoms: PawAtoms) -> torch.Tensor:
    """Valence electrons per spin: Ω n(0) + Σ ΔS_ij D_ij; (s,)."""
    count_s = atoms.basis.volume * density.density_sg[:, 0].real
    for species in atoms.layout.species:
        overlap_ij = atoms.constant(species.setup, "overlap_ij")
        count_s = count_s + (atoms.layout.blocks(density.occupancy_sx, species) * overlap_ij).sum((1, 2, 3))
    return count_s


def moment_per_atom(density: Density, atoms: PawAtoms) -> np.ndarray:
    """Magnetic moment inside each augmentation sphere, Σ_ij (D_up - D_down)_ij <φ_i|φ_j>_sphere; (a,), or (a, v)."""
    polarisation_x = density.spin.magnetisation(density.occupancy_sx)
    moment_a = np.zeros((*polarisation_x.shape[:-1], len(atoms.basis.structure.symbols)))
    if density.spin.polarised:
        for species in atoms.layout.species:
            inside_ij = atoms.runtime.tensor(species.setup.sphere_overlap_ij)
            blocks_aij = atoms.layout.blocks(polarisation_x, species)
            moment_a[..., species.atom_a] = (blocks_aij * inside_ij).sum((-2, -1)).cpu().numpy()
    return moment_a.T


def density_of(orbitals: FilledOrbitals, fields: Collection[str]) -> Density:
    """The density of some orbitals with these fields, not symmetrised."""
    made = {name: kind.of_orbitals(orbitals) for name, kind in KINDS.items() if name in fields}
    return Density(made, orbitals.atoms.basis.spin)


def starting_density(atoms: PawAtoms, electrons: float, fields: Iterable[str] = ALWAYS) -> Density:
    """Superposed atoms with the starting moments of the structure, of one Bohr magneton where it has none."""
    structure = atoms.basis.structure
    moment_a = np.ones(len(structure.symbols)) if structure.magmom_a is None else structure.magmom_a
    return atomic_density(atoms, electrons, moment_a if atoms.basis.spin.polarised else None, fields)


def carrying(density: Density, atoms: PawAtoms, fields: Collection[str]) -> Density:
    """The density with these fields and no others: what it lacks is that of free atoms with the moments it has."""
    if density.value.keys() == set(fields):
        return density
    moment_a = moment_per_atom(density, atoms) if density.spin.polarised else None
    known = superposed_atoms(atoms, density.spin, moment_a, fields=set(fields) - density.value.keys()).value
    known = {**known, **density.value}
    return Density({name: known[name] for name in KINDS if name in fields}, density.spin)


def moved(density: Density, atoms: PawAtoms, old: Structure, known_g: torch.Tensor) -> Density:
    """A density of the same atoms at the places, and in the cell, of an older structure, taken along to where they are.

    Σ_a ñ_a stands for what moves with the atoms, n - Σ_a ñ_a(old) + Σ_a ñ_a(new), with the moments that they have in
    their spheres; occupancies stay with their atoms.  density: on the waves of this basis by their integers, per volume
    of this cell; known_g: where it is known, elsewhere it becomes that of the atoms.
    """
    moment_a = moment_per_atom(density, atoms) if density.spin.polarised else None
    fields = density.value.keys() & WAVES.keys()
    there, here = (superposed_atoms(atoms, density.spin, moment_a, place, fields) for place in (old, None))

    def along(name: str, value_sx: torch.Tensor) -> torch.Tensor:
        return value_sx - there.value[name] * known_g + here.value[name] if name in fields else value_sx

    return density.map_names(along)


def atomic_density(
    atoms: PawAtoms, electrons: float, moment_a: np.ndarray | None, fields: Iterable[str] = ALWAYS
) -> Density:
    """`superposed_atoms` scaled to the number of electrons."""
    spin = UNPOLARISED if moment_a is None else COLLINEAR
    density = superposed_atoms(atoms, spin, moment_a, fields=fields)
    return density.times(electrons / density.spin.total(electrons_of(density, atoms)))


def superposed_atoms(
    atoms: PawAtoms, spin: Spin, moment_a: np.ndarray | None = None, place: Structure | None = None,
    fields: Iterable[str] = ALWAYS,
) -> Density:  # fmt: skip
    """Fields of a superposition of neutral spherical atoms.

    moment_a: starting moments (Bohr magneton), None for none.  The moment is put into the open channels of each atom
    (`polarised_occupancy`).  place: another structure of these atoms, whose waves have the same integers; per volume of
    this cell.
    """
    occupancies = []
    for species in atoms.layout.species:
        moments = np.zeros(species.count) if moment_a is None else moment_a[species.atom_a]
        occupancies.append(np.array([polarised_occupancy(species.setup, m, spin) for m in moments]).swapaxes(0, 1))
    wanted = set(fields)
    made = {name: kind.of_atoms(atoms, occupancies, place) for name, kind in KINDS.items() if name in wanted}
    return Density(made, spin)


def polarised_occupancy(setup: Setup, moment: float | np.ndarray, spin: Spin) -> np.ndarray:
    """Electrons of each component and channel of an atom with a given moment, a number or a vector; (s, j).

    The moment goes to the channels in proportion to what each can carry by Hund's rule,
    min(f, 2(2l+1) - f); what exceeds that, or a closed-shell atom's moment, to the filled channels.
    """
    filled_j = setup.atom_occupancy_j
    if not spin.polarised:
        return filled_j[None]
    capacity_j = 2 * (2 * np.array(setup.l_j) + 1)
    open_j = np.clip(np.minimum(filled_j, capacity_j - filled_j), 0, None)
    moment_v = np.atleast_1d(moment)
    size = sqrt(moment_v @ moment_v)
    by_hund = min(size, open_j.sum())
    moment_j = open_j * (by_hund / open_j.sum()) if open_j.sum() > 0 else np.zeros_like(open_j)
    rest_j = filled_j - moment_j
    if size > by_hund and rest_j.sum() > 0:
        moment_j = moment_j + rest_j * min((size - by_hund) / rest_j.sum(), 1.0)
    direction_v1 = moment_v[:, None] / (size or 1.0)
    return spin.joined(torch.tensor(np.stack([filled_j, *direction_v1 * moment_j]))).numpy()
