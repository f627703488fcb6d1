"""Density mixing (AMIX, BMIX, IMIX, MAXMIX), and how far charge can move: the longest waves that can slosh in what the
cell holds.

Equations and measured choices: docs/equations/mixing.md.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import pi, sqrt

import numpy as np

from eigenwerk.dft.crystal.structure import Structure, away_from_vacuum, vacuum
from eigenwerk.dft.settings.dataset import hund_moment
from eigenwerk.dft.settings.tags_in_force import Computed, line_of, number, whole
from eigenwerk.io.paw.dataset import PawState
from eigenwerk.io.vasp.input.incar import Incar
from eigenwerk.units import BOHR_ANGSTROM

MOLECULE_AMIX = 0.5
"""AMIX of molecules: they screen less than crystals.  Not of free atoms, whose levels empty and fill at once."""

CHOSEN = {"AMIX", "BMIX", "AMIN", "BMIX_MAG"}
"""Tags by which users choose factors of the density themselves."""

ATOM_RADIUS = 2.0
"""Radius of the ball that the valence electrons of an atom fill, bohr (oxygen in water: 2.0)."""

APART = 4.5
"""Images of a molecule whose atoms are so far apart (Å) exchange no charge; the layers of no element are (Cs: 4.3)."""

FIT_MAG_FROM = 15
"""Steps with AMIX_MAG in crystals before the response decides: most magnets are done by then, and a magnetisation that
is mixed gently from the start may settle in a higher minimum (bent iron: 0.3 eV)."""


@dataclass(frozen=True)
class Mixing:
    """Density mixing: linear factors and Kerker wave vectors (bohr⁻¹) of density and magnetisation.

    kind: "pulay" or "kerker"; fit_charge: amix is the smallest factor of the density, and the measured response says
    which; fit_mag: amix_mag is the largest of the magnetisation, in the same way;
    history: earlier steps that take part; by_extent: long waves are damped by the size of a molecule, not of
    its box (False: amix, bmix and amin as they stand).
    """

    kind: str = "pulay"
    amix: float = 0.4
    fit_charge: bool = True
    bmix: float = 0.529177210903
    amix_mag: float = 1.6
    fit_mag: bool = True
    bmix_mag: float = 0.529177210903
    amin: float = 0.1
    history: int = 24
    by_extent: bool = True


def magnetic_fit_from(points: int, species: Iterable[Sequence[PawState]]) -> int:
    """The step from which on the factor of the magnetisation is fitted to its response, 0 for the start.

    Free atoms, whose levels empty and fill at once, need it from the start; they have one k-point.  So do crystals with
    open 4f or 5f shells, which are as in atoms: with AMIX_MAG the moment turns over in the second step, and fcc
    neodymium ends 0.13 eV too high.
    """
    return 0 if points == 1 or any(hund_moment(states, least_l=3) for states in species) else FIT_MAG_FROM


def smallest_factor(mixing: Mixing, structure: Structure) -> float:
    """The smallest factor with which a wave of the total density is mixed: AMIN, or more in a molecule.

    1/(1 + B²/q²) with q of `smallest_sloshing_g`, the inverse of the strongest response of a metal's electrons that
    are confined to the molecule; never above AMIX.  In a small molecule that is AMIX for all waves.
    """
    wave = smallest_sloshing_g(structure) if mixing.by_extent else 0.0
    if wave == 0:
        return mixing.amin
    return max(mixing.amin, min(mixing.amix, wave**2 / (wave**2 + mixing.bmix**2)))


def screens_locally(mixing: Mixing, structure: Structure, shortest: float) -> bool | None:
    """Whether the local density of states is to screen, in place of the Kerker factor; None where it never may.

    Where the Kerker factor of the shortest wave (1/bohr) is below its floor: the cell is long, and what it holds need
    not be the metal that the factor is meant for.  Not in molecules, nor with factors that the user has chosen.
    """
    if not mixing.by_extent or mixing.kind != "pulay" or smallest_sloshing_g(structure):
        return None
    return mixing.amix * shortest**2 / (shortest**2 + mixing.bmix**2) < mixing.amin


def smallest_sloshing_g(structure: Structure) -> float:
    """The wave vector of the slowest neutral motion of charge, 1/bohr; 0 unless vacuum parts all images of the atoms.

    In a ball of radius R the Coulomb interaction has the eigenvalues 4π/k² with k R = π for the dipoles, the largest
    of a motion that keeps the number of electrons.  However large the box, a molecule answers its long waves with
    4π/k² and not with 4π/g².  R² = 5 λ + r², λ the largest principal second moment of the atoms (R²/5 in a ball), r
    the radius of one atom: of a rod or a disc the long side counts.
    Source: T. S. Kalmenov and D. Suragan, Dokl. Math. 80, 646 (2009) (eigenvalues of the Newton potential).
    """
    empty_c = vacuum(structure)
    if empty_c.min() < APART / BOHR_ANGSTROM:
        return 0.0
    position_av = away_from_vacuum(structure)
    away_av = position_av - position_av.mean(axis=0)
    longest = float(np.linalg.eigvalsh(away_av.T @ away_av / len(away_av))[-1])
    return pi / sqrt(5 * max(longest, 0.0) + ATOM_RADIUS**2)


def density_mixing(incar: Incar, structure: Structure) -> tuple[Mixing, dict[str, Computed]]:
    """Density mixing, and the tags that follow from others and from the structure, with their origin.

    AMIN is min(0.1, AMIX, AMIX_MAG) by default.  Wave vectors from 1/Å to 1/bohr.  An AMIX_MAG that is given is the
    factor; the default is its upper end.
    """
    computed = {}
    by_extent = not CHOSEN & set(incar.values)
    linear, magnetic = number(incar, "AMIX"), number(incar, "AMIX_MAG")
    if by_extent and len(structure.symbols) > 1 and smallest_sloshing_g(structure):
        linear = MOLECULE_AMIX
        computed["AMIX"] = Computed(linear, "of molecules")
    smallest = incar.values.get("AMIN")
    if isinstance(smallest, float):
        computed["AMIN"] = Computed(smallest, line_of(incar, "AMIN"))
    else:
        smallest = min(0.1, linear, magnetic)
        computed["AMIN"] = Computed(smallest, "min(0.1, AMIX, AMIX_MAG)")
    made = Mixing(
        kind="kerker" if incar.get("IMIX") == 1 else "pulay",
        amix=linear,
        fit_charge="AMIX" not in incar.values,
        bmix=number(incar, "BMIX") * BOHR_ANGSTROM,
        amix_mag=magnetic,
        fit_mag="AMIX_MAG" not in incar.values,
        bmix_mag=number(incar, "BMIX_MAG") * BOHR_ANGSTROM,
        amin=smallest,
        history=abs(whole(incar, "MAXMIX")),
        by_extent=by_extent,
    )
    return made, computed
