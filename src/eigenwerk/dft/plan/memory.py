"""How much memory each rank of a ground state needs, before it starts.

Every kind of array that counts is a row of `STAYING` or `PASSING`: how many there are at a time, their axes by the
letters of the vocabulary, and the bytes of a number.  What the letters mean is `axes_of`; a new feature adds rows.  Of
what passes only the largest item counts, for these follow one another.

Numbers of arrays are counted in the code and checked against peaks of live tensors (docs/guides/plan.md).
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from math import ceil, prod

from eigenwerk.dft.plan.exchange_cost import bytes_of_all, done_once
from eigenwerk.dft.plan.job_size import JobSize
from eigenwerk.dft.plan.layout import ProcessLayout
from eigenwerk.dft.plan.machine import Machine
from eigenwerk.dft.plan.step_cost import points_per_block
from eigenwerk.parallel.memory.block_sizes import (
    BATCH_POINTS,
    EXCHANGE_OPERATORS,
    EXCHANGE_SOURCE_BYTES,
    FEWEST_GUARDS,
    GUARD_SHARE,
    exchange_bytes,
    exchange_table_bytes,
)

COMPLEX, REAL, ORBITAL = 16, 8, 0
"""Bytes of a number; ORBITAL: of one of an orbital's, which is real or complex."""

EXACT_MATRICES = 10
"""H and S of all plane waves, and what LAPACK needs beside them."""

ONE_CENTRE_BYTES = 26e6
"""Densities, gradients and derivatives of one atom and spin on its angular mesh."""

Condition = Callable[[JobSize], bool]


@dataclass(frozen=True)
class Arrays:
    """Arrays of one kind: the item they belong to, how many there are at a time, axes, bytes of a number."""

    item: str
    axes: str
    count: float = 1
    number: float = REAL
    where: Condition = lambda size: True

    def bytes(self, size: JobSize, axes: Mapping[str, float]) -> float:
        """Of all of them."""
        number = self.number or size.number_bytes
        return self.count * number * prod(axes[letter] for letter in self.axes)


def _in_spheres(size: JobSize) -> bool:
    return size.sphere_points > 0


def _phased(size: JobSize) -> bool:
    """Whether there is exp(ik·R) on the points of spheres: not at Gamma alone with real orbitals."""
    return _in_spheres(size) and not (size.real and size.kpoints == 1)


STAYING = (
    Arrays("orbitals", "sknG", 2, ORBITAL),  # old and new
    Arrays("projections", "sknI", 2, ORBITAL, lambda size: not _in_spheres(size)),  # of both, on every rank
    Arrays("projectors", "kIG", 1, ORBITAL),
    Arrays("projectors in spheres", "Q", where=_in_spheres),
    Arrays("projectors in spheres", "S", 4, where=_in_spheres),  # places, three numbers each, and their index
    Arrays("projectors in spheres", "kS", 1, COMPLEX, _phased),
    # twins of the projectors and, while the density is made, of the orbitals
    Arrays("single precision", "kIG", 0.5, ORBITAL, lambda size: size.start_single),
    Arrays("single precision", "sknG", 0.5, ORBITAL, lambda size: size.start_single),
    Arrays("single precision", "Q", 0.5, where=lambda size: size.start_single and _in_spheres(size)),
    Arrays("single precision", "kS", 0.5, COMPLEX, lambda size: size.start_single and _phased(size)),
    # integers and kinetic energies; places of whole spheres; of real orbitals also what takes them to the grid
    Arrays("index tables", "kG", 8),
    Arrays("index tables", "kW", 1),
    Arrays("index tables", "kG", 2, where=lambda size: size.real),
    Arrays("index tables", "kW", 2, where=lambda size: size.real),
    Arrays("index tables", "g", 12.5),
    Arrays("compensation charges", "gx"),  # a Gaussian of each species
    Arrays("compensation charges", "ca", 1, COMPLEX),  # phases on the columns of both spheres
    Arrays("compensation charges", "clL", 1, COMPLEX),
    Arrays("density mixing", "jsd", 2, COMPLEX),  # changes of densities and of residuals
    Arrays("density mixing", "jsD", 2),
    Arrays("symmetry", "od", 1, 25),  # a place, a phase, a mark
    Arrays("weights on atoms", "sKnaw", 1, 1, lambda size: size.weighed > 0),  # of all k-points, to the end
    # rows of the operators that are kept and of the one in use, and the orbitals last given
    Arrays("operators of exact exchange", "sknG", EXCHANGE_OPERATORS + 2, ORBITAL, lambda size: size.mesh > 0),
    Arrays("earlier ionic steps", "esknG", 1, ORBITAL, lambda size: size.earlier > 0),
    Arrays("earlier ionic steps", "esd", 1, COMPLEX, lambda size: size.earlier > 0),
)
"""What is there from beginning to end."""

BESIDES = "bands besides"
"""A batch of other k-points, with all that belongs to them, beside the state of the run."""

EXCHANGE = "exact exchange"
"""An application to all bands."""

SOLVER = "eigensolver"
GROWN, APPLYING, MATRICES = 20, 16, 8
"""Vectors of a block after a restart (spaces of three times the bands before and after, with A x and P x, and Ritz
vectors) and while H is applied; matrices of the subspace."""

PASSING = (
    # atomic and random orbitals: projectors are made beside them, then H and S are applied
    Arrays("start", "bGm", 1, ORBITAL),
    Arrays("grids", "sP", 12),  # density, gradients, and what the functional makes of them
    Arrays("grids", "P", 6),
    Arrays("one-centre terms", "sr", 1, ONE_CENTRE_BYTES),
    Arrays("dense matrices of ALGO = Exact", "WW", EXACT_MATRICES, ORBITAL, lambda size: size.exact),
)
"""What comes and goes, besides the eigensolver's."""


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


def estimate_memory(size: JobSize, layout: ProcessLayout, machine: Machine, block: int | None = None) -> MemoryEstimate:
    """The tables of this file for one layout on one kind of device.

    block: k-points that are solved together; by default those that fit the machine's size of blocks.
    """
    axes = axes_of(size, layout, machine, block or points_per_block(size, layout, machine))
    staying, passing = (_by_item(rows, size, axes) for rows in (STAYING, PASSING))
    staying["programs"] = machine.programs + (machine.talking if layout.ranks > 1 else 0.0)
    passing[SOLVER] = _solver_bytes(size, layout, machine, axes)
    if size.mesh:
        passing[EXCHANGE] = _exchange_bytes(size, layout, machine, axes)
    if size.listed:
        passing[BESIDES] = _batch_bytes(size, layout, machine)
    items = [MemoryItem(name, round(count)) for name, count in staying.items()]
    return MemoryEstimate((*items, *(MemoryItem(name, round(count), True) for name, count in passing.items())))


def axes_of(size: JobSize, layout: ProcessLayout, machine: Machine, block: int) -> dict[str, float]:
    """Lengths of axes on the fullest rank, by letter.

    s, k, n, G, W, I, g, c, a, o as in docs/vocabulary.md (k: of the fullest group; o: pure translations counted once);
    b: k-points of a block of the eigensolver; d: plane waves of the density; D: entries of all one-centre matrices;
    j: steps of mixing history; x: species; r: kinds of atoms that are worked on together; m: vectors at the start;
    P, S: points of the fine grid, of the spheres of all atoms; Q: values of the projectors on the latter; K: k-points
    whose orbitals are projected on atoms; w: bytes of such a projection; e: states of earlier ionic steps;
    l, L: degrees of compensation charges, which are powers of h_3 too, and their shapes (l, m).
    """
    return {
        "s": size.spins, "k": layout.points(size.kpoints), "n": size.bands, "G": _waves(size, layout),
        "W": size.plane_waves, "I": size.projectors, "g": size.dense_waves, "c": size.columns, "a": size.atoms,
        "o": size.operations, "b": block, "d": size.density_waves,
        "D": sum(species.atoms * species.projectors**2 for species in size.species), "j": size.history,
        "x": len(size.species), "r": min(ceil(size.kinds / layout.ranks), machine.atoms_per_batch),
        "m": max(size.projectors + size.bound_states, 5 * size.starting_orbitals),
        "P": size.fine_points, "S": size.sphere_points, "Q": size.sphere_values, "K": size.weighed,
        "w": size.weight_bytes, "e": size.earlier, "l": size.charges_lmax + 1, "L": (size.charges_lmax + 1) ** 2,
    }  # fmt: skip


def _by_item(rows: Iterable[Arrays], size: JobSize, axes: Mapping[str, float]) -> dict[str, float]:
    """Bytes of each item, in the order of the rows."""
    found: dict[str, float] = {}
    for row in rows:
        if row.where(size):
            found[row.item] = found.get(row.item, 0.0) + row.bytes(size, axes)
    return found


def _batch_bytes(size: JobSize, layout: ProcessLayout, machine: Machine) -> float:
    """One batch of a list: tables, projectors and orbitals of its k-points, and the larger of start and eigensolver."""
    guards = max(FEWEST_GUARDS, size.bands // GUARD_SHARE)
    other = replace(size, bands=size.bands + guards, real=size.listed_real, start_single=False)
    groups = layout.groups
    rows = (size.spins * other.bands + size.projectors) * _waves(other, layout) * COMPLEX
    together = groups * max(1, min(int(machine.block_bytes // rows), BATCH_POINTS // groups))
    batch = ceil(size.listed / ceil(size.listed / together))
    other = replace(other, kpoints=batch)
    axes = axes_of(other, layout, machine, points_per_block(other, layout, machine))
    staying = _by_item((row for row in STAYING if "k" in row.axes), other, axes)
    start = _by_item((row for row in PASSING if row.item == "start"), other, axes)["start"]
    return sum(staying.values()) + max(start, _solver_bytes(other, layout, machine, axes))


def _solver_bytes(size: JobSize, layout: ProcessLayout, machine: Machine, axes: Mapping[str, float]) -> float:
    """The larger of two moments: after a restart, and while H is applied."""
    bands, block = size.first_bands, axes["b"]
    vectors = size.number_bytes * block * bands * axes["G"]
    # in single precision twice as many k-points fit a block, and their matrices are double all the same
    points = 2 * block if size.start_single else block
    matrices = MATRICES * size.number_bytes * points * (3 * bands) ** 2
    # orbitals on grids, and on the points of spheres, are each copied twice
    grids = min(machine.grid_bytes, size.number_bytes * block * bands * size.wave_points / layout.band_ranks)
    on_grid = 3 * grids * (1 + size.sphere_points / size.wave_points)
    projections = size.number_bytes * block * bands * size.projectors
    # of three tensors that belong to a vector, one holds its projections; in spheres they are H x and S x
    images = vectors if size.sphere_points else (2 * vectors + projections) / 3
    travelling = 2 * vectors if layout.band_ranks > 1 else 0.0
    conjugated = 2 * vectors if block > 1 and not size.real else 0.0
    return max(GROWN * images + matrices + conjugated, APPLYING * images + on_grid + 3 * projections) + travelling


def _exchange_bytes(size: JobSize, layout: ProcessLayout, machine: Machine, axes: Mapping[str, float]) -> float:
    """Occupied orbitals of a rank, and those of two others on their way; bands and images; grids; tables."""
    own = layout.points(size.kpoints) * ceil(size.filled / layout.band_ranks)
    occupied = size.number_bytes * own * (size.plane_waves + size.projectors)  # of one spin
    there = (size.spins + min(2, layout.ranks - 1)) * occupied
    if layout.band_ranks > 1:  # whole orbitals of all its bands
        there += int(size.number_bytes * axes["s"] * axes["k"] * axes["n"] * axes["G"])
    images = 2 * size.number_bytes * axes["s"] * axes["k"] * axes["n"] * axes["G"]
    grid = COMPLEX * size.wave_points
    room, pairs = exchange_bytes(machine.grid_bytes)
    together = size.exchange_block or room / grid
    bands = size.bands / layout.band_ranks
    targets = 2 * grid * max(1, min(together, bands))
    if done_once(size, layout, machine):  # all of them
        targets = bytes_of_all(size, layout)
    # of compensation charges on at most all points, and of the interaction by wave vector
    most = exchange_table_bytes(machine.grid_bytes)
    tables = (axes["L"] + 3) * 8 * size.wave_points + min(most, size.mesh * axes["k"] * grid)
    kept = size.spins * size.mesh * size.filled * grid / 2 if machine.on_device else 0.0
    kept = kept if kept <= EXCHANGE_SOURCE_BYTES else 0.0
    return there + images + targets + 4 * max(grid, pairs) + tables + kept


def _waves(size: JobSize, layout: ProcessLayout) -> int:
    """Plane waves of a rank."""
    return ceil(size.plane_waves / layout.band_ranks)
