"""Seconds of one application of exact exchange, and how many there are to be.

Each orbital (two real ones at once) of each irreducible point is paired with each that holds electrons at each point of
the whole mesh: two FFTs there and back, and as many passes over the grid again for products and compensation charges.

    t = s k N_k [n' f PAIR · 2 FFT(N) + CALL],   n' = n, or n/2 of real orbitals

(of occupied orbitals of points that are in the mesh as they are, pairs (n, m) and (m, n) at once, where that pays: f/2
of their f partners) shared by the ranks.  PAIR and CALL are fitted to seven small systems on one core, of which
`benchmarks/hybrids/application_time.py` writes the table; DEVICE_PAIR to HfO2 with 96 atoms on an H200
(`on_device.md`).
"""

from math import ceil, log10

from eigenwerk.dft.plan.job_size import JobSize
from eigenwerk.dft.plan.layout import ProcessLayout
from eigenwerk.dft.plan.machine import Machine
from eigenwerk.parallel.memory.block_sizes import bytes_for_once, pairs_once

PAIR, CALL = 3.5, 0.6e-3
"""Time of a pair over that of its two FFTs; seconds for two points before there are pairs, on one core."""

DEVICE_PAIR, DEVICE_CALLS = 0.5, 100
"""The same for a pair on a GPU, whose FFTs are counted as passes through memory; kernels that are started for two
points."""

FORCES = {True: 0.5, False: 1.0}
"""Applications that forces and stress, which come together, are worth, by whether each pair is done once (measured:
HfO2 with 96 atoms 0.55 and 1.04, with 216 atoms 0.48)."""

MIRRORED = 0.7
"""What is saved of a pair that comes of another, in units of a pair."""


def done_once(size: JobSize, layout: ProcessLayout, machine: Machine) -> bool:
    """Whether each pair of orbitals is done once."""
    own, sharing = size.filled // layout.band_ranks, 2 if size.real else 1
    if size.exchange_block or bytes_of_all(size, layout) > machine.once_bytes:
        return False
    return pairs_once(size.kpoints, size.mesh, own**2 / sharing, size.wave_points, machine.grid_bytes)


def bytes_of_all(size: JobSize, layout: ProcessLayout) -> float:
    """Of a rank's orbitals on the grid, all at a time, where pairs come once."""
    sharing = 2 if size.real else 1
    bands, occupied = (ceil(ceil(one / layout.band_ranks) / sharing) for one in (size.bands, size.filled))
    return bytes_for_once(layout.points(size.kpoints), bands, occupied, size.wave_points)


def application_seconds(size: JobSize, layout: ProcessLayout, machine: Machine) -> float:
    """Of the rank with most to do; 0 without exact exchange."""
    if not size.mesh:
        return 0.0
    points = size.spins * layout.points(size.kpoints) * size.mesh
    bands = ceil(size.bands / layout.band_ranks)
    targets = ceil(bands / 2) if size.real else bands
    partners = float(size.filled)
    if done_once(size, layout, machine):
        share = size.kpoints / size.mesh  # of all partners
        partners -= MIRRORED * share * size.filled / size.bands * size.filled / 2
    pair = (DEVICE_PAIR if machine.on_device else PAIR) * 2 * machine.fft_seconds(size.wave_points)
    call = DEVICE_CALLS * machine.launch if machine.on_device else CALL
    return points * (targets * partners * pair + call)


def expected_applications(energy_tolerance: float) -> int:
    """For a tolerance in eV: measured 4 at 1e-5 eV for insulators, 6 or 7 at 1e-7 with nearly no gap."""
    return max(2, round(1.0 + 0.8 * log10(1.0 / max(energy_tolerance, 1e-12))))
