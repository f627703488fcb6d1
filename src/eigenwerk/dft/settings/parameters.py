"""The settings of a ground-state calculation, in the engine's own units and words (no torch here)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from eigenwerk.dft.crystal.downsampling import Downsampling
from eigenwerk.functionals.hybrid import Hybrid
from eigenwerk.functionals.table import find_functional
from eigenwerk.units import HARTREE_EV

FILLINGS = {
    -2: "fixed occupations", -1: "Fermi-Dirac smearing", 0: "Gaussian smearing",
    -4: "tetrahedra", -5: "tetrahedra with Blöchl's correction",
    -14: "tetrahedra with a Fermi-Dirac step", -15: "tetrahedra with Blöchl's correction and a Fermi-Dirac step",
}  # fmt: skip
SHARP = (-2, -4, -5)
"""ISMEAR of occupations that have no width."""


def filling_words(ismear: int, width_ev: float) -> str:
    """How bands are occupied: 'Gaussian smearing of 0.05 eV'."""
    name = FILLINGS.get(ismear, f"Methfessel-Paxton smearing of order {ismear}")
    return name if ismear in SHARP else f"{name} of {width_ev:g} eV"


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


@dataclass(frozen=True)
class SphereProjection:
    """Spheres about the atoms on which orbitals are projected: radius by element, bohr; phases: whether wanted too."""

    radius: Mapping[str, float]
    phases: bool = False


@dataclass(frozen=True)
class DipoleCorrection:
    """IDIPOL, LDIPOL, DIPOL, EFIELD: one axis of a slab, or all of a molecule; centre in fractional coordinates.

    in_potential: whether orbitals and forces know of it; force: of an electric field on an electron along the axis,
    hartree per bohr.
    """

    axes: tuple[int, ...]
    centre_c: tuple[float, float, float]
    in_potential: bool = False
    force: float = 0.0


@dataclass(frozen=True)
class Parameters:
    """What defines a ground state apart from structure, k-points and data sets; hartree and bohr.

    cutoff: plane-wave cutoff; precision: PREC; wave_grid, fine_grid: FFT sizes or None for automatic;
    functional: GGA tag; hybrid: exact exchange beside shares of that functional, or None;
    exchange_range: what becomes of unscreened exchange at long range (`UNSCREENED` of exchange/kernel.py);
    downsampling: which pairs of k-points exchange counts, None for all; pair_precision: of their densities (PRECFOCK);
    core_screened: whether exchange with the cores is screened as that between orbitals is (CORE_EXCHANGE);
    exchange_block: orbitals that exact exchange is applied to at a time, 0 as memory allows (NBLOCK_FOCK);
    spins: 1 or 2; electrons: valence electrons; bands: NBANDS;
    ismear: -2 fixed, -1 Fermi-Dirac, 0 Gaussian, N > 0 Methfessel-Paxton, -4, -5, -14, -15 tetrahedra;
    width: SIGMA;
    fixed_occupations: per spin and band (0..1) for ismear = -2; fixed_moment: NUPDOWN;
    energy_tolerance: EDIFF; max_steps, min_steps, frozen_steps: NELM, NELMIN, steps with the starting
    density; symmetry_level: ISYM; symmetry_tolerance: SYMPREC; hubbard: kind of atom (`Structure.kinds`) ->
    (l, U - J) of shells with +U; real_space: element -> accuracy of projectors in real space (LREAL, ROPT), empty: in
    reciprocal space;
    solver: "automatic" or a sequence of eigensolvers (scf/solver_choice.py);
    stress: whether it is computed (ISIF); motion_time: TIME (hartree⁻¹), of the damped solver; start_single: whether
    the first steps improve the orbitals in single precision; exchange_single: whether pairs of exact exchange are;
    correct_forces: LCORR, and one more step where their error is large; dipole: correction for that of a slab or
    molecule, projection: of the orbitals on atoms; or None.
    """

    cutoff: float
    electrons: float
    bands: int
    precision: str = "Normal"
    wave_grid: tuple[int, int, int] | None = None
    fine_grid: tuple[int, int, int] | None = None
    functional: str = "PE"
    hybrid: Hybrid | None = None
    exchange_range: str = "probe charge"
    downsampling: Downsampling | None = None
    exchange_block: int = 0
    pair_precision: str = "Normal"
    core_screened: bool = False
    spins: int = 1
    ismear: int = 1
    width: float = 0.2 / 27.211386245988
    fixed_occupations: tuple[tuple[float, ...], ...] | None = None
    fixed_moment: float | None = None
    energy_tolerance: float = 1e-4 / 27.211386245988
    max_steps: int = 120
    min_steps: int = 2
    frozen_steps: int = 0
    mixing: Mixing = field(default_factory=Mixing)
    symmetry_level: int = 2
    symmetry_tolerance: float = 1e-5 / 0.529177210903
    hubbard: Mapping[str, tuple[int, float]] = field(default_factory=dict)
    real_space: Mapping[str, float] = field(default_factory=dict)
    solver: str = "automatic"
    motion_time: float = 0.4
    start_single: bool = False
    exchange_single: bool = False
    correct_forces: bool = True
    stress: bool = True
    dipole: DipoleCorrection | None = None
    projection: SphereProjection | None = None
    title: str = "unknown system"


SHELLS = "spdf"
"""Letters of angular momenta."""


def method_title(parameters: Parameters) -> str:
    """The functional as papers call it: PBE, HSE06, PBE+U."""
    title = find_functional(parameters.functional, parameters.hybrid).title
    return f"{title}+U" if parameters.hubbard else title


def hubbard_words(parameters: Parameters) -> list[str]:
    """One text for each corrected shell, 'Ni d: U - J = 6 eV (Dudarev)'; Ni 2 is a second species of nickel."""
    return [f"{kind} {SHELLS[l]}: U - J = {difference * HARTREE_EV:g} eV (Dudarev)"
            for kind, (l, difference) in parameters.hubbard.items()]  # fmt: skip


USER_TAGS = {
    "cutoff": "ENCUT", "precision": "PREC", "wave_grid": "NGX, NGY, NGZ", "fine_grid": "NGXF, NGYF, NGZF",
    "functional": "GGA", "hybrid": "LHFCALC, AEXX, HFSCREEN",
    "downsampling": "NKRED, EVENONLY, ODDONLY", "pair_precision": "PRECFOCK",
    "core_screened": "CORE_EXCHANGE", "exchange_range": "range of exact exchange", "spins": "ISPIN",
    "electrons": "NELECT", "ismear": "ISMEAR", "width": "SIGMA",
    "fixed_occupations": "FERWE, FERDO", "fixed_moment": "NUPDOWN", "hubbard": "LDAU", "real_space": "LREAL",
    "mixing": "AMIX, BMIX, IMIX, MAXMIX", "symmetry_level": "ISYM", "symmetry_tolerance": "SYMPREC",
    "dipole": "IDIPOL, LDIPOL, DIPOL, EFIELD",
}  # fmt: skip
"""Parameters that the answer to a density, or the mixing of it, depends on, and what users call them."""


def changed_tags(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Tags of those parameters that are not the same; both as mappings of plain values."""
    return [words for name, words in USER_TAGS.items() if before.get(name) != now[name]]
