"""The numbers that decide what a ground state costs, in memory and in time."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil

import numpy as np

from eigenwerk.dft.basis.grids import DENSITY_FACTOR, ELECTROSTATIC_FACTOR, GridSizes, sphere_radius
from eigenwerk.dft.basis.plane_waves import (
    PlaneWaveCounts,
    columns_in_half_sphere,
    count_density_waves,
    sphere_volume_count,
)
from eigenwerk.dft.crystal.inversion import inversion_of_orbitals
from eigenwerk.dft.crystal.kpoints import KPoints
from eigenwerk.dft.crystal.structure import Structure
from eigenwerk.dft.crystal.symmetry import Symmetry
from eigenwerk.dft.exchange.pairs.mesh_points import mesh_points
from eigenwerk.dft.filling.default_bands import guard_bands
from eigenwerk.dft.settings.dataset import DataSet
from eigenwerk.dft.settings.mixing import screens_locally
from eigenwerk.dft.settings.parameters import Parameters
from eigenwerk.eigensolvers import SEQUENCES, sequence_for
from eigenwerk.functionals.non_local import MESHES
from eigenwerk.lattice_reduction import reduced

PROJECTED = 16
"""Angular momenta (l, m) of a projection, l up to 3."""


@dataclass(frozen=True)
class SpeciesSize:
    """Atoms of one element; projectors and bound states (2l + 1 for each bound channel) of one such atom; largest l of
    its compensation charges; points of the wave grid in the sphere of its projectors, if those are in real space."""

    atoms: int
    projectors: int
    bound_states: int
    charges_lmax: int
    sphere_points: int = 0


@dataclass(frozen=True)
class JobSize:
    """Sizes of a calculation.

    kpoints: irreducible ones; filled: bands that hold electrons; plane_waves: of the longest sphere (all others are
    padded to it); kinds: atoms that symmetry does not make equal; density_waves, dense_waves: of the half spheres of
    density and electrostatics; columns: of plane waves, of both half spheres; wave_points, fine_points: of the FFT
    grids; history: steps of the mixing; operations: of the symmetry, pure translations counted once; real: orbitals are
    real (wave_form.py); solver: that of later steps, by its name;
    screens: the local density of states takes part in mixing; start_single: the first steps are in single precision.
    listed: k-points of the longest list whose bands are found besides, batch by batch, with whether their orbitals are
    real; weighed: k-points whose orbitals are projected on atoms, 0 for none, and the numbers of bytes that are kept
    of an orbital for each atom; earlier: states of earlier ionic steps that predict the next one; mesh: points of the
    whole mesh that exact exchange sums over, 0 without; exchange_block: orbitals that it is applied to at a time, 0 as
    memory allows; nodes: of the mesh of non-local correlation, 0 without.
    """

    spins: int
    kpoints: int
    bands: int
    filled: int
    plane_waves: int
    species: tuple[SpeciesSize, ...]
    kinds: int
    density_waves: int
    dense_waves: int
    columns: int
    wave_points: int
    fine_points: int
    history: int
    operations: int
    real: bool = False
    solver: str = "davidson"
    screens: bool = False
    start_single: bool = False
    listed: int = 0
    listed_real: bool = False
    weighed: int = 0
    weight_bytes: int = 0
    earlier: int = 0
    mesh: int = 0
    exchange_block: int = 0
    nodes: int = 0

    @property
    def exact(self) -> bool:
        """Whether whole matrices are diagonalised."""
        return self.solver == "exact"

    @property
    def number_bytes(self) -> int:
        """Bytes of an orbital for each plane wave: a complex number, or a real one."""
        return 8 if self.real else 16

    @property
    def atoms(self) -> int:
        """Atoms of the cell."""
        return sum(species.atoms for species in self.species)

    @property
    def projectors(self) -> int:
        """Projectors of all atoms."""
        return sum(species.atoms * species.projectors for species in self.species)

    @property
    def charges_lmax(self) -> int:
        """Largest l of compensation charges."""
        return max(species.charges_lmax for species in self.species)

    @property
    def sphere_points(self) -> int:
        """Points of the wave grid in the spheres of all atoms, with projectors in real space."""
        return sum(species.atoms * species.sphere_points for species in self.species)

    @property
    def sphere_values(self) -> int:
        """Values of all projectors on the points of their spheres."""
        return sum(species.atoms * species.sphere_points * species.projectors for species in self.species)

    @property
    def bound_states(self) -> int:
        """Bound states of all atoms: the atomic orbitals at the start."""
        return sum(species.atoms * species.bound_states for species in self.species)

    @property
    def starting_orbitals(self) -> int:
        """Atomic and random orbitals from which the first bands are made."""
        return max(self.bound_states, self.first_bands) + max(2, self.first_bands // 8)

    @property
    def first_bands(self) -> int:
        """Bands of the first step, with guards."""
        return self.bands + guard_bands(self.bands)


def _points_of_exchange(kpoints: KPoints, parameters: Parameters) -> int:
    """Points of the mesh, or of the stars of a list, that each one is paired with."""
    if parameters.hybrid is None or not parameters.hybrid.fraction:
        return 0
    if parameters.downsampling is not None:
        return kpoints.full_count // parameters.downsampling.times_fewer
    return len(mesh_points(kpoints, bool(parameters.hybrid.screening)))


def job_size(
    structure: Structure,
    kpoints: KPoints,
    parameters: Parameters,
    grids: GridSizes,
    waves: PlaneWaveCounts,
    datasets: dict[str, DataSet],
) -> JobSize:
    """The sizes of a described calculation."""
    radius = sphere_radius(parameters.cutoff)
    dense_radius = 2 * ELECTROSTATIC_FACTOR * radius
    density_waves, density_columns = count_density_waves(structure, DENSITY_FACTOR * radius, grids.wave)
    real = kpoints.allow_real_orbitals or (not parameters.real_space and inversion_of_orbitals(kpoints) is not None)
    shortest = float(np.linalg.norm(reduced(structure.reciprocal_cv), axis=1).min())
    return JobSize(
        spins=parameters.spins,
        kpoints=len(kpoints.point_kc),
        bands=parameters.bands,
        filled=min(parameters.bands, ceil(parameters.electrons / 2)),
        plane_waves=max(waves.most, 1),
        species=tuple(_species_size(structure, symbol, datasets[symbol]) for symbol in structure.species),
        kinds=len(np.unique(kpoints.symmetry.atom_map_oa.min(axis=0))),
        density_waves=density_waves,
        dense_waves=round(sphere_volume_count(structure, dense_radius) / 2),
        columns=density_columns + columns_in_half_sphere(structure, dense_radius),
        wave_points=int(np.prod(grids.wave)),
        fine_points=int(np.prod(grids.fine)),
        history=parameters.mixing.history,
        operations=_cosets(kpoints.symmetry),
        real=real,
        solver=SEQUENCES[sequence_for(parameters.solver, parameters.bands, real)].follows.name,
        screens=bool(screens_locally(parameters.mixing, structure, shortest)),
        start_single=parameters.start_single,
        mesh=_points_of_exchange(kpoints, parameters),
        exchange_block=parameters.exchange_block,
        nodes=0 if parameters.non_local is None else MESHES[parameters.non_local.kernel].count,
    )


def with_lists(
    size: JobSize, lists: Sequence[tuple[KPoints, PlaneWaveCounts]], parameters: Parameters, symmetry: Symmetry
) -> JobSize:
    """The same with k-points whose bands are found besides, and with projections on atoms, where they are asked for."""
    longest = max(lists, key=lambda one: len(one[0].point_kc), default=None)
    if longest is not None:
        points, waves = longest
        size = replace(
            size, listed=len(points.point_kc), plane_waves=max(size.plane_waves, waves.most),
            listed_real=points.allow_real_orbitals
            or (not parameters.real_space and inversion_of_orbitals(points) is not None),
        )  # fmt: skip
    if parameters.projection is None:
        return size
    # w, its average over the star, what that gives to the other spin, and complex phases
    numbers = 2 + bool(symmetry.spin_flip_o.any()) + 2 * parameters.projection.phases
    weighed = size.kpoints + sum(len(points.point_kc) for points, _ in lists)
    return replace(size, weighed=weighed, weight_bytes=8 * PROJECTED * numbers)


def _species_size(structure: Structure, symbol: str, data: DataSet) -> SpeciesSize:
    bound = sum(2 * state.l + 1 for state in data.header.states if state.n is not None)
    return SpeciesSize(structure.symbols.count(symbol), data.header.n_projectors, bound, data.header.shape.lmax)


def _cosets(symmetry: Symmetry) -> int:
    """Different pairs of rotation and spin flip."""
    key_ox = np.column_stack([symmetry.rotation_occ.reshape(symmetry.order, 9), symmetry.spin_flip_o])
    return len(np.unique(key_ox, axis=0))
