"""Seconds of one step of self-consistency, from counted operations and the figures of a `Machine`.

For one k-point and spin with n bands on G plane waves, I projectors and N points of the wave grid, a step does, shared
by the band ranks and with the numbers of the solver that serves later steps (`WORK`),

    local potential   applications n (2 FFT(N) + four more passes over the grid)
    projectors        products 8 n I G FLOP
    overlaps          gram 8 n² G FLOP            H and S between vectors, and rotations
    vectors           passes over n G             residuals, preconditioner, sums
    density           n (FFT(N) + four passes)

and, each problem on one rank of the group only,

    dense problems    eigenproblems of n (and 2 n, 3 n), with Cholesky factor and three triangular solves

`exchange` is the all-to-all between the two layouts of orbitals (hidden behind FFTs but for a quarter) and the sums of
projections and overlaps over band ranks.  `potential` is done once: fields of the atoms, exchange-correlation, the
one-centre terms.  On a GPU a step takes at least as long as Python needs to start its kernels (`Machine.calls`).
"""

from dataclasses import dataclass, replace
from math import ceil

from eigenwerk.dft.plan.job_size import JobSize
from eigenwerk.dft.plan.layout import ProcessLayout
from eigenwerk.dft.plan.machine import Machine
from eigenwerk.parallel.memory.block_sizes import points_in_block


@dataclass(frozen=True)
class SolverWork:
    """What a later step of a solver does: applications of H to each band; products of orbitals with projectors; of
    orbitals with each other, n² G each; passes over orbitals; sizes of dense problems over n."""

    applications: float
    products: float
    gram: float
    passes: float
    dense: tuple[int, ...]


DAVIDSON = SolverWork(3.0, 4.0, 21.0, 60.0, (1, 2, 3))
"""Two expansions (linalg/bands/davidson.py)."""

BY_ITSELF = SolverWork(2.8, 4.3, 11.0, 60.0, (1, 1))
"""Conjugate gradients with about two directions for each band (linalg/bands/band_search.py)."""

WORK = {
    "davidson": DAVIDSON, "conjugate": BY_ITSELF, "rmm": replace(BY_ITSELF, applications=2.6, gram=7.0),
    "damped": replace(BY_ITSELF, applications=5.0, products=8.6, gram=15.0, passes=120.0),
    "chebyshev": SolverWork(8.0, 16.0, 8.0, 60.0, (1, 1)),
}  # fmt: skip
"""By `Eigensolver.name`: counted in the code, passes fitted to six jobs on one to four H100 and H200."""

FIELD_PASSES = 1.2
NODE_BYTES, MATRIX_BYTES = 1150, 230
"""Read and written for each node at a point, and for each pair of nodes at a wave, fitted to an H200 (CuC: 64 ms)."""

HIDDEN = 0.75
"""Share of the all-to-all that FFTs hide, if they take long enough."""

NEAR_FERMI = 0.7
"""Share of the density's work that the local density of states at the Fermi level takes, where it takes part."""


@dataclass(frozen=True)
class StepCost:
    """Seconds of one step by phase, for the slowest rank."""

    phases: tuple[tuple[str, float], ...]

    @property
    def seconds(self) -> float:
        """Of the whole step."""
        return sum(seconds for _, seconds in self.phases)


def step_cost(size: JobSize, layout: ProcessLayout, machine: Machine) -> StepCost:
    """What a step takes in a layout on devices of one kind."""
    work = WORK.get(size.solver, DAVIDSON)
    points = layout.points(size.kpoints) * size.spins
    share = points / layout.band_ranks
    n, waves = size.bands, size.plane_waves
    projectors = size.projectors + (n if size.mesh else 0)  # rows of exact exchange are like projectors
    # real orbitals: half the bytes, a quarter of the operations, two of them on one grid
    gemm = machine.matrix_speed(n) * (4 if size.real else 1)
    vector = 2 * size.number_bytes * n * waves / machine.copy
    local = work.applications * n * _grid_seconds(size, machine, transforms=2, passes=4)
    density = share * size.filled * _grid_seconds(size, machine, transforms=1, passes=4)
    phases = {
        "local potential": share * local,
        "projectors": share * work.products * 8 * n * projectors * waves / gemm,
        "overlaps and rotations": share * work.gram * 8 * n**2 * waves / gemm,
        "vectors": share * work.passes * vector + machine.calls * machine.launch * _blocks(size, layout, machine),
        "dense problems": _dense_seconds(size, layout, machine, work),
        "density": density,
        "mixing": NEAR_FERMI * density if size.screens else 0.0,
        "exchange": points * _exchange_seconds(size, layout, machine, work, local / layout.band_ranks),
        "potential": _potential_seconds(size, layout, machine),
    }  # fmt: skip
    if size.nodes:
        phases["non-local correlation"] = _non_local_seconds(size, layout, machine)
    return StepCost(tuple(phases.items()))


def _non_local_seconds(size: JobSize, layout: ProcessLayout, machine: Machine) -> float:
    """Nodes dealt out to ranks: FFTs of two real fields, passes that make them and take them up; matrices of waves."""
    grid = machine.fft_seconds(size.fine_points) + NODE_BYTES * size.fine_points / machine.copy
    waves = MATRIX_BYTES * size.nodes * size.dense_waves / machine.copy
    return ceil(size.nodes / layout.ranks) * (grid + waves)


def points_per_block(size: JobSize, layout: ProcessLayout, machine: Machine) -> int:
    """k-points that are solved together (scf/bands.py); on a GPU those of all spins, if they all fit."""
    point_bytes = size.bands * ceil(size.plane_waves / layout.band_ranks) * size.number_bytes
    points = layout.points(size.kpoints)
    fitting = points_in_block(size.spins * points, point_bytes, machine.block_bytes)
    return fitting if machine.on_device and fitting == size.spins * points else min(points, fitting)


def _blocks(size: JobSize, layout: ProcessLayout, machine: Machine) -> int:
    points, block = layout.points(size.kpoints), points_per_block(size, layout, machine)
    return 1 if block > points else size.spins * ceil(points / block)


def _grid_seconds(size: JobSize, machine: Machine, transforms: int, passes: int) -> float:
    """FFTs of one orbital and passes over the grid; each pass reads and writes."""
    seconds = transforms * machine.fft_seconds(size.wave_points) + passes * 32 * size.wave_points / machine.copy
    return seconds / 2 if size.real else seconds


def _dense_seconds(size: JobSize, layout: ProcessLayout, machine: Machine, work: SolverWork) -> float:
    """Eigenproblems, those of a block dealt out over the band ranks."""
    block = points_per_block(size, layout, machine)
    blocks = size.spins * layout.points(size.kpoints) / block
    own = ceil(block / layout.band_ranks)
    seconds = blocks * sum(_pencil_seconds(machine, width * size.bands, own) for width in work.dense)
    return machine.real_dense * seconds if size.real else seconds


def _pencil_seconds(machine: Machine, n: int, problems: int) -> float:
    """H c = e S c: Cholesky (4/3 n³ FLOP), two solves before and one after (4 n³ each), the eigenproblem itself."""
    return machine.eigh_seconds(n, problems) + problems * (4 / 3 + 12) * n**3 / (0.5 * machine.matrix_speed(n))


def _exchange_seconds(
    size: JobSize, layout: ProcessLayout, machine: Machine, work: SolverWork, hiding: float
) -> float:
    """Of one k-point: orbitals there and back for each application of H, and once for the density; sums."""
    ranks = layout.band_ranks
    if ranks == 1:
        return 0.0
    away = (ranks - 1) / ranks
    orbitals = size.number_bytes * size.bands * size.plane_waves / ranks
    travel = (2 * work.applications + 1) * orbitals * away / machine.link
    summed = size.number_bytes * (4 * size.bands * size.projectors + 12 * size.bands**2)
    gathered = size.number_bytes * 14 * size.bands**2
    exposed = max((1 - HIDDEN) * travel, travel - hiding)
    return exposed + (2 * summed + gathered) * away / machine.link


def _potential_seconds(size: JobSize, layout: ProcessLayout, machine: Machine) -> float:
    """Phases of all atoms on the electrostatic sphere, FFTs and functional on the fine grid, one-centre terms."""
    fields = FIELD_PASSES * 32 * size.atoms * size.dense_waves / machine.copy
    grid = 12 * size.spins * machine.fft_seconds(size.fine_points) + 60 * 32 * size.fine_points / machine.copy
    symmetry = size.spins * size.operations * 4 * 32 * size.density_waves / machine.copy
    mixing = 4 * size.history * size.spins * 32 * size.density_waves / machine.copy
    return fields + grid + symmetry + mixing + ceil(size.kinds / layout.ranks) * machine.one_centre
