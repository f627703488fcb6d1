"""How much memory each rank of a ground state needs, before it starts.

With s spins, k k-points of the fullest group, b of them in a block of the eigensolver, n bands, W plane waves (of the
longest sphere, all others are padded to it) and G of them on a rank, I projectors and B bound states of all atoms,
n' = n + 2 [n / 20] bands in the first step, m = max(B, n') + max(2, n' / 8) starting orbitals, d and g plane waves
in the half spheres of density and electrostatics, N and P points of the wave and density grids, o operations (pure
translations counted once), a atoms, i projectors of an atom, h steps of mixing history, F bytes of orbitals on the
grid at a time:

    orbitals              32 s k n G               old and new ones, 16 bytes for a complex number (half for real ones)
    projections           32 s k n I               of the orbitals, on every rank; not with LREAL = On
    projectors            16 k I G
    projectors in spheres 8 Σ_a p (i + 4) + 16 k Σ_a p   with LREAL = On, p points of the wave grid in the sphere of an
                                                   atom: values, places and their index; phases, unless at Gamma alone
    single precision      8 k G (I + s n)          with PRECISION_START = Single: twins of projectors and orbitals
                          + 4 Σ_a p i + 8 k Σ_a p
    index tables          64 k G + 8 k W + 100 g  of real orbitals 16 (k G + k W) more: what takes them to the grid
    compensation charges  8 g species + 16 c (a + 27)   Gaussians; phases of a atoms and polynomials on the c columns of
                                                   waves of both spheres (some π (3 g / 2π)^(2/3) each)
    density mixing        2 h s (16 d + 8 Σ_a i²)
    symmetry              25 o d
    programs              a constant, and another one for communication

live from beginning to end; of the following only the largest counts, for they follow one another:

    eigensolver           20 v + 128 b (3 n')²     u = 16 b n' G, q = 16 b n' I, v = (2 u + q) / 3: spaces of 3 n'
                                                   vectors before and after a restart with A x and P x, Ritz
                                                   vectors (with LREAL = On v = u: H x and S x); matrices of the
                                                   subspace; 2 u more for several k-points, whose conjugates are
                                                   copied
                          or 16 v + 3 F (1 + Σ_a p / N) + 3 q while H is applied, p only with LREAL = On;
                          2 u more where orbitals travel between ranks
    start                 16 b G max(I + B, 5 m)   atomic and random orbitals with H and S applied
    grids                 8 P (12 s + 6)           density, gradients, and what the functional makes of them
    one-centre terms      26 MB s per atom of a batch
    dense matrices        160 W²                    with ALGO = Exact: H and S, and what LAPACK needs beside them

Numbers of arrays are counted in the code and checked against peaks of live tensors (docs/guides/plan.md).
"""

from dataclasses import dataclass
from math import ceil

from eigenwerk.dft.plan.job_size import JobSize
from eigenwerk.dft.plan.layout import Layout
from eigenwerk.dft.plan.machine import Machine
from eigenwerk.dft.plan.step_cost import points_per_block

COMPLEX, REAL = 16, 8
SOLVER_ARRAYS, APPLYING_ARRAYS, TRAVELLING_ARRAYS, CONJUGATED_ARRAYS = 20, 16, 2, 2
SUBSPACE_MATRICES = 8
SPHERE_ARRAYS = 4
"""Of a point in a sphere: its place (three numbers) and its index."""

EXACT_MATRICES = 10

POLYNOMIALS = 27
"""Powers 0, 1 and 2 of h_3 in the nine shapes (l, m) of compensation charges."""

ONE_CENTRE_BYTES = 26e6
"""Densities, gradients and derivatives of one atom and spin on its angular mesh."""


@dataclass(frozen=True)
class MemoryItem:
    """Bytes of one kind of data; passing: not from beginning to end."""

    name: str
    bytes: int
    passing: bool = False


@dataclass(frozen=True)
class MemoryEstimate:
    """Bytes by item, for the fullest rank."""

    items: tuple[MemoryItem, ...]

    @property
    def total(self) -> int:
        """What stays, and the largest of what passes."""
        staying = sum(item.bytes for item in self.items if not item.passing)
        return staying + max((item.bytes for item in self.items if item.passing), default=0)


def estimate_memory(size: JobSize, layout: Layout, machine: Machine, block: int | None = None) -> MemoryEstimate:
    """The tables of the head of this file for one layout on one kind of device.

    block: k-points that are solved together; by default those that fit the machine's size of blocks.
    """
    block = block or points_per_block(size, layout, machine.block_bytes)
    items = [MemoryItem(name, round(count)) for name, count in _staying(size, layout, machine).items()]
    items += [MemoryItem(name, round(count), True) for name, count in _passing(size, layout, machine, block).items()]
    return MemoryEstimate(tuple(items))


def _staying(size: JobSize, layout: Layout, machine: Machine) -> dict[str, float]:
    points, waves = layout.points(size.kpoints), _waves(size, layout)
    blocks = sum(species.atoms * species.projectors**2 for species in size.species)
    factor = 16 if size.real else 0
    return {
        "orbitals": 2 * size.number_bytes * size.spins * points * size.bands * waves,
        **_projections(size, points),
        "projectors": size.number_bytes * points * size.projectors * waves,
        **_spheres(size, points),
        **_single_precision(size, points, waves),
        "index tables": points * ((64 + factor) * waves + (8 + factor) * size.plane_waves) + 100 * size.dense_waves,
        "compensation charges": REAL * size.dense_waves * len(size.species)
        + COMPLEX * size.columns * (size.atoms + POLYNOMIALS),
        "density mixing": 2 * size.history * size.spins * (COMPLEX * size.density_waves + REAL * blocks),
        "symmetry": 25 * size.operations * size.density_waves,
        "programs": machine.programs + (machine.talking if layout.ranks > 1 else 0.0),
    }


def _projections(size: JobSize, points: int) -> dict[str, float]:
    """P x of old and new orbitals: short rows, which ranks that share plane waves do not share."""
    if size.sphere_points:
        return {}
    return {"projections": 2 * size.number_bytes * size.spins * points * size.bands * size.projectors}


def _single_precision(size: JobSize, points: int, waves: int) -> dict[str, float]:
    """Twins of the projectors and, while the density is made, of the orbitals."""
    if not size.start_single:
        return {}
    vectors = size.number_bytes / 2 * points * waves * (size.projectors + size.spins * size.bands)
    spheres = REAL / 2 * size.sphere_values + COMPLEX / 2 * _phases(size, points)
    return {"single precision": vectors + spheres}


def _spheres(size: JobSize, points: int) -> dict[str, float]:
    """Tables of the projectors on the wave grid; every rank has those of all atoms."""
    if not size.sphere_points:
        return {}
    values = REAL * (size.sphere_values + SPHERE_ARRAYS * size.sphere_points)
    return {"projectors in spheres": values + COMPLEX * _phases(size, points)}


def _phases(size: JobSize, points: int) -> int:
    """exp(ik·R) on the points of all spheres; at Gamma, where k-points are one and orbitals real, there are none."""
    return 0 if size.real and size.kpoints == 1 else points * size.sphere_points


def _passing(size: JobSize, layout: Layout, machine: Machine, block: int) -> dict[str, float]:
    atoms = ceil(size.kinds / layout.ranks)
    starting = max(size.projectors + size.bound_states, 5 * size.starting_orbitals)
    passing = {
        "eigensolver": _solver_bytes(size, layout, machine, block),
        "start": size.number_bytes * block * _waves(size, layout) * starting,
        "grids": REAL * size.fine_points * (12 * size.spins + 6),
        "one-centre terms": ONE_CENTRE_BYTES * size.spins * min(atoms, machine.atoms_per_batch),
    }
    if size.exact:
        passing["dense matrices of ALGO = Exact"] = EXACT_MATRICES * size.number_bytes * size.plane_waves**2
    return passing


def _solver_bytes(size: JobSize, layout: Layout, machine: Machine, block: int) -> float:
    """The larger of two moments: after a restart, and while H is applied."""
    bands = size.first_bands
    vectors = size.number_bytes * block * bands * _waves(size, layout)
    # in single precision twice as many k-points fit a block, and their matrices are double all the same
    points = 2 * block if size.start_single else block
    matrices = SUBSPACE_MATRICES * size.number_bytes * points * (3 * bands) ** 2
    # orbitals on grids, and on the points of spheres, are each copied twice
    grids = min(machine.grid_bytes, size.number_bytes * block * bands * size.wave_points / layout.band_ranks)
    on_grid = 3 * grids * (1 + size.sphere_points / size.wave_points)
    projections = size.number_bytes * block * bands * size.projectors
    # of three tensors that belong to a vector, one holds its projections
    images = vectors if size.sphere_points else (2 * vectors + projections) / 3
    applying = APPLYING_ARRAYS * images + on_grid + 3 * projections
    travelling = TRAVELLING_ARRAYS * vectors if layout.band_ranks > 1 else 0.0
    conjugated = CONJUGATED_ARRAYS * vectors if block > 1 and not size.real else 0.0
    return max(SOLVER_ARRAYS * images + matrices + conjugated, applying) + travelling


def _waves(size: JobSize, layout: Layout) -> int:
    """Plane waves of a rank."""
    return ceil(size.plane_waves / layout.band_ranks)
