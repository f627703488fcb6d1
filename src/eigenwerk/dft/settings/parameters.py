"""The settings of a ground-state calculation, in the engine's own units and words (no torch here)."""

from collections.abc import Mapping
from dataclasses import dataclass

from eigenwerk.dft.dispersion.correction import DispersionCorrection
from eigenwerk.dft.settings.cycle import CycleSettings
from eigenwerk.dft.settings.declared import Changes, hartree, setting
from eigenwerk.dft.settings.dipole import DipoleCorrection, dipole_correction, dipole_words
from eigenwerk.dft.settings.dispersion import dispersion_correction, dispersion_words, with_dispersion
from eigenwerk.dft.settings.exchange import ExchangeSettings
from eigenwerk.dft.settings.hubbard import hubbard_words
from eigenwerk.dft.settings.mixing import Mixing, density_mixing
from eigenwerk.dft.settings.motion_kind import DYNAMICS, kind_of_motion
from eigenwerk.dft.settings.non_local import functional_title, non_local_words
from eigenwerk.dft.settings.projection import SphereProjection, sphere_projection
from eigenwerk.dft.settings.real_space import projector_accuracy
from eigenwerk.functionals.non_local import NonLocal
from eigenwerk.io.vasp.input.incar import Incar
from eigenwerk.units import BOHR_ANGSTROM

FILLINGS = {
    -2: "fixed occupations", -1: "Fermi-Dirac smearing", 0: "Gaussian smearing",
    -4: "tetrahedra", -5: "tetrahedra with Blöchl's correction",
    -14: "tetrahedra with a Fermi-Dirac step", -15: "tetrahedra with Blöchl's correction and a Fermi-Dirac step",
}  # fmt: skip
SHARP = (-2, -4, -5)
"""ISMEAR of occupations that have no width."""

LEAST_SYMPREC = 1e-10
"""Å; coordinates in double precision have no more digits."""


def filling_words(ismear: int, width_ev: float) -> str:
    """How bands are occupied: 'Gaussian smearing of 0.05 eV'."""
    name = FILLINGS.get(ismear, f"Methfessel-Paxton smearing of order {ismear}")
    return name if ismear in SHARP else f"{name} of {width_ev:g} eV"


def symmetry_tolerance(symprec: float) -> float:
    """SYMPREC in bohr."""
    return max(symprec, LEAST_SYMPREC) / BOHR_ANGSTROM


def wants_stress(incar: Incar) -> bool:
    """By ISIF, which is 0 in dynamics if it is not given."""
    given = incar.values.get("ISIF")
    return kind_of_motion(incar) != DYNAMICS if given is None else given != 0


@dataclass(frozen=True)
class Parameters(CycleSettings, ExchangeSettings):
    """What defines a ground state apart from structure, k-points and data sets; hartree and bohr.

    non_local: correlation beside the functional;
    wave_grid, fine_grid: FFT sizes or None for automatic; fixed_occupations: per spin and band (0..1) for ISMEAR = -2;
    hubbard: kind of atom (`Structure.kinds`) -> (l, U - J) of shells with +U; real_space: element -> accuracy of
    projectors in real space, empty: in reciprocal space; stress: whether it is computed.
    """

    cutoff: float = setting("ENCUT")
    electrons: float = setting("NELECT")
    bands: int = setting("NBANDS", Changes.BANDS)
    precision: str = setting("PREC", default="Normal")
    wave_grid: tuple[int, int, int] | None = setting("NGX, NGY, NGZ", default=None)
    fine_grid: tuple[int, int, int] | None = setting("NGXF, NGYF, NGZF", default=None)
    functional: str = setting("GGA", default="PE")
    non_local: NonLocal | None = setting(
        "LUSE_VDW, ZAB_VDW, IVDW_NL, BPARAM, CPARAM", default=None, words=("correlation", non_local_words)
    )
    spins: int = setting("ISPIN", reads=int)
    ismear: int = setting("ISMEAR", Changes.FILLING, reads=int)
    width: float = setting("SIGMA", Changes.FILLING, reads=hartree)
    fixed_occupations: tuple[tuple[float, ...], ...] | None = setting("FERWE, FERDO", default=None)
    fixed_moment: float | None = setting("NUPDOWN", default=None)
    symmetry_level: int = setting("ISYM", reads=int)
    symmetry_tolerance: float = setting("SYMPREC", reads=symmetry_tolerance)
    mixing: Mixing = setting(
        "AMIX, BMIX, IMIX, MAXMIX", Changes.THE_WAY, default=Mixing, made=density_mixing, gives="tags"
    )
    hubbard: Mapping[str, tuple[int, float]] = setting("LDAU", default=dict, words=("+U", hubbard_words))
    real_space: Mapping[str, float] = setting("LREAL", default=dict, made=projector_accuracy, gives="ROPT")
    dipole: DipoleCorrection | None = setting(
        "IDIPOL, LDIPOL, DIPOL, EFIELD", default=None, made=dipole_correction, gives="tags",
        words=("dipole", dipole_words),
    )  # fmt: skip
    dispersion: DispersionCorrection | None = setting(
        "IVDW, VDW_*", default=None, made=dispersion_correction, gives="tags", words=("dispersion", dispersion_words)
    )
    projection: SphereProjection | None = setting(
        "LORBIT, RWIGS", Changes.BANDS, default=None, made=sphere_projection, gives="RWIGS"
    )
    stress: bool = setting("ISIF", Changes.NOTHING, default=True, made=wants_stress)
    title: str = setting("SYSTEM", Changes.NOTHING, reads=str)


def method_title(parameters: Parameters) -> str:
    """The functional as papers call it: PBE, HSE06, optB88-vdW, PBE+U, PBE-D3(BJ)."""
    title = functional_title(parameters.functional, parameters.hybrid, parameters.non_local)
    return with_dispersion(f"{title}+U" if parameters.hubbard else title, parameters.dispersion)
