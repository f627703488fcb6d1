"""The settings of a ground-state calculation, in the engine's own units and words (no torch here)."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from eigenwerk.dft.crystal.downsampling import Downsampling
from eigenwerk.dft.settings.declared import Changes, hartree, is_single, setting
from eigenwerk.functionals.hybrid import Hybrid
from eigenwerk.functionals.non_local import NonLocal, kernel_words, recipe_name
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
    non_local: non-local correlation beside it, or None (LUSE_VDW);
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

    cutoff: float = field(metadata=setting("ENCUT"))
    electrons: float = field(metadata=setting("NELECT"))
    bands: int = field(metadata=setting("NBANDS", Changes.BANDS))
    precision: str = field(default="Normal", metadata=setting("PREC"))
    wave_grid: tuple[int, int, int] | None = field(default=None, metadata=setting("NGX, NGY, NGZ"))
    fine_grid: tuple[int, int, int] | None = field(default=None, metadata=setting("NGXF, NGYF, NGZF"))
    functional: str = field(default="PE", metadata=setting("GGA"))
    hybrid: Hybrid | None = field(default=None, metadata=setting("LHFCALC, AEXX, HFSCREEN"))
    non_local: NonLocal | None = field(default=None, metadata=setting("LUSE_VDW, ZAB_VDW, IVDW_NL, BPARAM, CPARAM"))
    exchange_range: str = field(default="probe charge", metadata=setting("range of exact exchange"))
    downsampling: Downsampling | None = field(default=None, metadata=setting("NKRED, EVENONLY, ODDONLY"))
    exchange_block: int = 0
    pair_precision: str = field(default="Normal", metadata=setting("PRECFOCK"))
    core_screened: bool = field(default=False, metadata=setting("CORE_EXCHANGE"))
    spins: int = field(default=1, metadata=setting("ISPIN", reads=int))
    ismear: int = field(default=1, metadata=setting("ISMEAR", Changes.FILLING, int))
    width: float = field(default=0.2 / 27.211386245988, metadata=setting("SIGMA", Changes.FILLING, hartree))
    fixed_occupations: tuple[tuple[float, ...], ...] | None = field(default=None, metadata=setting("FERWE, FERDO"))
    fixed_moment: float | None = field(default=None, metadata=setting("NUPDOWN"))
    energy_tolerance: float = field(default=1e-4 / 27.211386245988, metadata=setting("EDIFF", Changes.LESS, hartree))
    max_steps: int = 120
    min_steps: int = field(default=2, metadata=setting("NELMIN", Changes.NOTHING, int))
    frozen_steps: int = 0
    mixing: Mixing = field(default_factory=Mixing, metadata=setting("AMIX, BMIX, IMIX, MAXMIX", Changes.THE_WAY))
    symmetry_level: int = field(default=2, metadata=setting("ISYM", reads=int))
    symmetry_tolerance: float = field(default=1e-5 / 0.529177210903, metadata=setting("SYMPREC"))
    hubbard: Mapping[str, tuple[int, float]] = field(default_factory=dict, metadata=setting("LDAU"))
    real_space: Mapping[str, float] = field(default_factory=dict, metadata=setting("LREAL"))
    solver: str = "automatic"
    motion_time: float = field(default=0.4, metadata=setting("TIME", Changes.NOTHING, float))
    start_single: bool = field(default=False, metadata=setting("PRECISION_START", Changes.NOTHING, is_single))
    exchange_single: bool = field(default=False, metadata=setting("PRECISION_EXCHANGE", Changes.NOTHING, is_single))
    correct_forces: bool = field(default=True, metadata=setting("LCORR", Changes.NOTHING, bool))
    stress: bool = True
    dipole: DipoleCorrection | None = field(default=None, metadata=setting("IDIPOL, LDIPOL, DIPOL, EFIELD"))
    projection: SphereProjection | None = field(default=None, metadata=setting("LORBIT, RWIGS", Changes.BANDS))
    title: str = field(default="unknown system", metadata=setting("SYSTEM", Changes.NOTHING, str))


SHELLS = "spdf"
"""Letters of angular momenta."""


def method_title(parameters: Parameters) -> str:
    """The functional as papers call it: PBE, HSE06, PBE+U."""
    title = functional_title(parameters.functional, parameters.hybrid, parameters.non_local)
    return f"{title}+U" if parameters.hubbard else title


def functional_title(tag: str, hybrid: Hybrid | None, non_local: NonLocal | None) -> str:
    """The same without +U: optB88-vdW; of a mixture that has no name 'PBE with the kernel of vdW-DF'."""
    title = find_functional(tag, hybrid).title
    if non_local is None:
        return title
    return recipe_name(tag, hybrid, non_local) or f"{title}, with the {kernel_words(non_local)}"


def hubbard_words(parameters: Parameters) -> list[str]:
    """One text for each corrected shell, 'Ni d: U - J = 6 eV (Dudarev)'; Ni 2 is a second species of nickel."""
    return [f"{kind} {SHELLS[l]}: U - J = {difference * HARTREE_EV:g} eV (Dudarev)"
            for kind, (l, difference) in parameters.hubbard.items()]  # fmt: skip
