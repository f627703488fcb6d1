"""How much memory a ground state needs, before it starts.

With s spins, k k-points, n bands, B bound states of all atoms, m = max(B, n) + max(2, n / 8) starting orbitals, G plane
waves (of the largest sphere, all others are padded to it), I projectors of all atoms, b k-points in a block of the
eigensolver, d and g plane waves in the half spheres of density and electrostatics, P points of the density grid, o
operations, a the atoms and i the projectors of an atom:

    orbitals              32 s k n G              old and new ones; complex numbers have 16 bytes
    projectors            16 k I G
    start                 16 k G max(I + B, B + 5 m)  atomic and random orbitals with H and S applied; freed later
    eigensolver           16 · 14 b n G           space of 3 n vectors with H and S, Ritz vectors, residuals
    index tables          48 k G + 90 g
    grids                 8 P (12 s + 6)          density, gradients, and what the functional makes of them
    compensation charges  16 g (a_X + 9 species)  phases of the atoms of the most frequent species X, and shapes
    density mixing        2 h s (16 d + 8 Σ_a i²) h steps of history
    symmetry              25 o d
    programs              a constant

`start` and `eigensolver` do not live at the same time; the larger one counts.  The estimate is for one process;
measured peaks (silicon, iron, a molecule in a box, 64 atoms with 4 k-points) are 2 to 10 % lower.
"""

from dataclasses import dataclass

from eigenwerk.dft.grids import ELECTROSTATIC_FACTOR, PRECISION_FACTOR, GridSizes, sphere_radius
from eigenwerk.dft.kpoints import KPoints
from eigenwerk.dft.parameters import Parameters
from eigenwerk.dft.plane_waves import PlaneWaveCounts, sphere_volume_count
from eigenwerk.dft.structure import Structure

PROGRAM_BYTES = 350 * 2**20
"""Python, PyTorch and the libraries, before any data (measured on Linux without CUDA)."""

COMPLEX, REAL = 16, 8
SOLVER_ARRAYS = 14
BLOCK_BYTES = 2**26
"""Orbitals of one block of k-points, as in `scf/bands.py`."""

MULTIPOLES = 9
"""Shapes (l, m) of compensation charges with l <= 2."""


@dataclass(frozen=True)
class MemoryItem:
    """Bytes of one kind of data."""

    name: str
    bytes: int


@dataclass(frozen=True)
class MemoryEstimate:
    """Bytes by item; total: their sum, with only the larger of `start` and `eigensolver`."""

    items: tuple[MemoryItem, ...]
    total: int


def estimate_memory(
    structure: Structure,
    kpoints: KPoints,
    parameters: Parameters,
    grids: GridSizes,
    waves: PlaneWaveCounts,
    projectors_a: list[int],
    bound_states: int,
) -> MemoryEstimate:
    """The table of the head of this file; projectors_a: projectors of each atom; bound_states: of all atoms."""
    points, bands, spins, most = len(kpoints.point_kc), parameters.bands, parameters.spins, max(waves.most, 1)
    projectors = sum(projectors_a)
    radius = sphere_radius(parameters.cutoff)
    dense = sphere_volume_count(structure, 2 * ELECTROSTATIC_FACTOR * radius) / 2
    density = sphere_volume_count(structure, PRECISION_FACTOR[parameters.precision] * radius) / 2
    starting = max(bound_states, bands) + max(2, bands // 8)
    block = min(points, max(1, BLOCK_BYTES // (COMPLEX * bands * most)))
    fine_points = grids.fine[0] * grids.fine[1] * grids.fine[2]
    most_atoms = max(structure.symbols.count(symbol) for symbol in structure.species)
    sizes = {
        "orbitals": 2 * COMPLEX * spins * points * bands * most,
        "projectors": COMPLEX * points * projectors * most,
        "start": COMPLEX * points * most * (bound_states + max(projectors, 5 * starting)),
        "eigensolver": COMPLEX * SOLVER_ARRAYS * block * bands * most,
        "index tables": 48 * points * most + 90 * dense,
        "grids": REAL * fine_points * (12 * spins + 6),
        "compensation charges": COMPLEX * dense * (most_atoms + MULTIPOLES * len(structure.species)),
        "density mixing": 2 * parameters.mixing.history * spins
        * (COMPLEX * density + REAL * sum(count**2 for count in projectors_a)),
        "symmetry": 25 * kpoints.symmetry.order * density,
        "programs": PROGRAM_BYTES,
    }  # fmt: skip
    total = sum(sizes.values()) - min(sizes["start"], sizes["eigensolver"])
    return MemoryEstimate(tuple(MemoryItem(name, round(size)) for name, size in sizes.items()), round(total))
