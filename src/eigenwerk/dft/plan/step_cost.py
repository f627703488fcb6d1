"""Seconds of one step of self-consistency, from counted operations and the figures of a `Machine`.

For one k-point and spin with n bands on G plane waves, I projectors and N points of the wave grid, a step of blocked
Davidson with two expansions (linalg/davidson.py) does, shared by the band ranks,

    local potential   3 n (2 FFT(N) + four more passes over the grid)   H is applied to n vectors three times
    projectors        72 n I G FLOP                                     three products of 8 n I G each time
    overlaps          96 n² G FLOP                                      H and S between (1 + 2 + 3) n² pairs
    rotations         96 n² G FLOP                                      x, H x, S x: 3 n², 6 n², then 3 n² for x alone
    vectors           24 passes over n G                                residuals, preconditioner, sums
    density           n (FFT(N) + one pass) + 8 n I G FLOP

and, each problem on one rank of the group only,

    dense problems    eigenproblems of n, 2 n, 3 n with Cholesky factor and three triangular solves

`exchange` is the all-to-all between the two layouts of orbitals (hidden behind FFTs but for a quarter) and the sums of
projections and overlaps over band ranks.  `potential` is done once: fields of the atoms, exchange-correlation, the
one-centre terms.
"""

from dataclasses import dataclass
from math import ceil

from eigenwerk.dft.plan.job_size import JobSize
from eigenwerk.dft.plan.layout import Layout
from eigenwerk.dft.plan.machine import Machine
from eigenwerk.parallel.block_sizes import points_in_block

APPLICATIONS = 3
"""Times H is applied to each band in a step."""

VECTOR_PASSES = 24
FIELD_PASSES = 12
HIDDEN = 0.75
"""Share of the all-to-all that FFTs hide, if they take long enough."""

REAL_DENSE = 0.4
"""Time of a real dense eigenproblem over that of a complex one: between a quarter (operations) and a half (bytes)."""

CALLS = 400
"""Kernels started for one block of k-points in a step, besides those counted by their work."""


@dataclass(frozen=True)
class StepCost:
    """Seconds of one step by phase, for the slowest rank."""

    phases: tuple[tuple[str, float], ...]

    @property
    def seconds(self) -> float:
        """Of the whole step."""
        return sum(seconds for _, seconds in self.phases)


def step_cost(size: JobSize, layout: Layout, machine: Machine) -> StepCost:
    """What a step takes in a layout on devices of one kind."""
    points = layout.points(size.kpoints) * size.spins
    share = points / layout.band_ranks
    n, waves = size.bands, size.plane_waves
    projectors = size.projectors + (n if size.mesh else 0)  # rows of exact exchange are like projectors
    # real orbitals: half the bytes, a quarter of the operations, two of them on one grid
    gemm = machine.matrix_speed(n) * (4 if size.real else 1)
    vector = 2 * size.number_bytes * n * waves / machine.copy
    local = APPLICATIONS * n * _grid_seconds(size, machine, transforms=2, passes=4)
    phases = {
        "local potential": share * local,
        "projectors": share * 72 * n * projectors * waves / gemm,
        "overlaps and rotations": share * 192 * n**2 * waves / gemm,
        "vectors": share * VECTOR_PASSES * vector + CALLS * machine.launch * _blocks(size, layout, machine),
        "dense problems": _dense_seconds(size, layout, machine),
        "density": share * (
            size.filled * _grid_seconds(size, machine, transforms=1, passes=1)
            + 8 * n * projectors * waves / gemm
        ),
        "exchange": points * _exchange_seconds(size, layout, machine, local / layout.band_ranks),
        "potential": _potential_seconds(size, layout, machine),
    }  # fmt: skip
    return StepCost(tuple(phases.items()))


def points_per_block(size: JobSize, layout: Layout, machine: Machine) -> int:
    """k-points that are solved together (scf/bands.py); on a GPU those of all spins, if they all fit."""
    point_bytes = size.bands * ceil(size.plane_waves / layout.band_ranks) * size.number_bytes
    points = layout.points(size.kpoints)
    fitting = points_in_block(size.spins * points, point_bytes, machine.block_bytes)
    return fitting if machine.on_device and fitting == size.spins * points else min(points, fitting)


def _blocks(size: JobSize, layout: Layout, machine: Machine) -> int:
    points, block = layout.points(size.kpoints), points_per_block(size, layout, machine)
    return 1 if block > points else size.spins * ceil(points / block)


def _grid_seconds(size: JobSize, machine: Machine, transforms: int, passes: int) -> float:
    """FFTs of one orbital and passes over the grid; each pass reads and writes."""
    seconds = transforms * machine.fft_seconds(size.wave_points) + passes * 32 * size.wave_points / machine.copy
    return seconds / 2 if size.real else seconds


def _dense_seconds(size: JobSize, layout: Layout, machine: Machine) -> float:
    """Eigenproblems of n, 2 n and 3 n; those of a block are dealt out over the band ranks."""
    block = points_per_block(size, layout, machine)
    turns = size.spins * layout.points(size.kpoints) / block * ceil(block / layout.band_ranks)
    seconds = turns * sum(_pencil_seconds(machine, width * size.bands) for width in (1, 2, 3))
    return REAL_DENSE * seconds if size.real else seconds


def _pencil_seconds(machine: Machine, n: int) -> float:
    """H c = e S c: Cholesky (4/3 n³ FLOP), two solves before and one after (4 n³ each), the eigenproblem itself."""
    return machine.eigh_seconds(n) + (4 / 3 + 12) * n**3 / (0.5 * machine.matrix_speed(n))


def _exchange_seconds(size: JobSize, layout: Layout, machine: Machine, hiding: float) -> float:
    """Of one k-point: orbitals there and back for each application of H, and once for the density; sums."""
    ranks = layout.band_ranks
    if ranks == 1:
        return 0.0
    away = (ranks - 1) / ranks
    travel = (2 * APPLICATIONS + 1) * size.number_bytes * size.bands * size.plane_waves / ranks * away / machine.link
    summed = size.number_bytes * (4 * size.bands * size.projectors + 12 * size.bands**2)
    gathered = size.number_bytes * 14 * size.bands**2
    exposed = max((1 - HIDDEN) * travel, travel - hiding)
    return exposed + (2 * summed + gathered) * away / machine.link


def _potential_seconds(size: JobSize, layout: Layout, machine: Machine) -> float:
    """Phases of all atoms on the electrostatic sphere, FFTs and functional on the fine grid, one-centre terms."""
    fields = FIELD_PASSES * 32 * size.atoms * size.dense_waves / machine.copy
    grid = 12 * size.spins * machine.fft_seconds(size.fine_points) + 60 * 32 * size.fine_points / machine.copy
    symmetry = size.spins * size.operations * 4 * 32 * size.density_waves / machine.copy
    mixing = 4 * size.history * size.spins * 32 * size.density_waves / machine.copy
    return fields + grid + symmetry + mixing + ceil(size.kinds / layout.ranks) * machine.one_centre
