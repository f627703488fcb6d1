"""How many bands to compute."""

from math import ceil, floor


def default_bands(electrons: float, atoms: int, starting_moment: float = 0.0) -> int:
    """NBANDS when it is not given: half the electrons and some empty bands.

    N = max(nint(N_e + 2) / 2 + max(N_atoms / 2, 3), int(0.6 N_e)) + (N_mag + 1) / 2,  all divisions of integers.
    Source: VASP wiki, NBANDS.  N_mag is the integer part of the sum of |MAGMOM|: with the signed sum an antiferromagnet
    gets too few bands (VASP wiki, Known issues).

    starting_moment: sum of |MAGMOM|, 0 without spin; where MAGMOM is not given it should hold what open f shells have,
    since a channel that is full holds no larger moment (hcp Gd: 10 in place of 15.6 Bohr magnetons, 2.3 eV too high).
    """
    nearest = floor(electrons + 2.5)
    plain = max(nearest // 2 + max(atoms // 2, 3), int(0.6 * electrons))
    return plain + (int(starting_moment + 1e-9) + 1) // 2


def fewest_bands(electrons: float, fixed_moment: float = 0.0) -> int:
    """Bands that hold the electrons: those of the larger spin channel, (N_e + |M|) / 2, rounded up."""
    return max(1, ceil(0.5 * (electrons + abs(fixed_moment)) - 1e-9))


def guard_bands(bands: int) -> int:
    """Bands above NBANDS that take part in the first step only: two for each twenty.

    Atomic orbitals may order empty states wrongly: in folded silicon the lowest empty ones, at X, come after others.
    What the start leaves out, and no other band has the symmetry of, a solver finds through rounding errors only.
    """
    return bands // 20 * 2
