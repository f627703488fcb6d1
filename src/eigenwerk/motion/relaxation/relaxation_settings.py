"""What a relaxation is asked for."""

from dataclasses import dataclass

KILOBAR = 1 / 1602.176634
"""eV/Å³."""


@dataclass(frozen=True)
class RelaxationSettings:
    """method: "quasi-newton" (IBRION = 2), "diis" (1) or "damped" (3).

    most_points: NSW, points that may be asked for.  isif: 0 to 8.
    force_tolerance: eV/Å, of the largest force on an atom (EDIFFG < 0); energy_tolerance: eV, of the change from one
    accepted point to the next (EDIFFG > 0); both None: all points are used (EDIFFG = 0).
    stress_tolerance: eV/Å³, of the largest stress that the cell may follow, beside force_tolerance; pressure: eV/Å³
    (PSTRESS).  pulay: whether the cell follows its stress less the Pulay pressure of the first point, so that it ends
    where energies at constant cutoff are lowest (PULAY_CORRECTION).  lattice_free: LATTICE_CONSTRAINTS.
    potim, nfree, smass: see docs/guides/relaxation.md.  first_radius, longest_radius: Å, the farthest that an atom
    goes in the first step, and in any.  translations: whether only positions relative to each other count.
    """

    method: str = "quasi-newton"
    most_points: int = 100
    isif: int = 2
    force_tolerance: float | None = 0.01
    energy_tolerance: float | None = None
    stress_tolerance: float = 0.5 * KILOBAR
    pressure: float = 0.0
    lattice_free: tuple[bool, bool, bool] = (True, True, True)
    pulay: bool = False
    potim: float = 0.5
    nfree: int | None = None
    smass: float | None = None
    first_radius: float = 0.25
    longest_radius: float = 0.8
    translations: bool = True
