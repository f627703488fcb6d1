"""A PAW data set, whatever the format of its file: everything in hartree and bohr.

All radial functions are *radial parts*, to be multiplied by a spherical harmonic: f(r) Y_lm for waves and
projectors, and Y_00 = 1/sqrt(4 pi) for densities, kinetic energy densities and potentials.  So
sqrt(4 pi) ∫ n_c(r) r² dr is the number of core electrons.
"""

import re
from dataclasses import dataclass

from eigenwerk.functionals.table import FUNCTIONALS
from eigenwerk.io.paw.radial_grid import Array, RadialGrid

FUNCTIONAL_NAMES = {
    "PW": "LDA",
    "LDA": "LDA",
    "LDA_X+LDA_C_PW": "LDA",
    **{"+".join(entry.libxc).upper(): entry.title for entry in FUNCTIONALS.values() if entry.title == entry.data[0]},
}
"""Short name of a functional by its name in the file; names that are not listed stand for themselves."""

_FILE_NAME = re.compile(r"([A-Z][a-z]?)(?:\.(?P<variant>.+))?\.(?P<functional>[A-Za-z0-9]+)")


@dataclass(frozen=True)
class PawState:
    """One radial channel: quantum numbers, occupation of the free atom, matching radius, reference energy.

    n is None and f is 0 for channels that are no bound states of the atom; rc (bohr) and e (hartree) are None
    where the file does not say.
    """

    n: int | None
    l: int
    f: float
    rc: float | None
    e: float | None
    id: str


@dataclass(frozen=True)
class AtomEnergy:
    """All-electron energy of the reference atom (spherical, spin-unpolarised), in hartree."""

    kinetic: float
    xc: float
    electrostatic: float
    total: float


@dataclass(frozen=True)
class CompensationShape:
    """Compensation charges g_l ∝ r^l k(r), l = 0 ... lmax, rc in bohr.

    kind: "gauss" for k = exp(-(r/rc)²), "sinc" for sinc²(πr/rc), "exp" for exp(-(r/rc)^exponent), or "bessel".
    """

    kind: str
    rc: float
    exponent: float | None = None
    lmax: int = 2

    @property
    def harmonics(self) -> int:
        """How many (l, m) there are."""
        return (self.lmax + 1) ** 2


@dataclass(frozen=True)
class PawHeader:
    """Everything about a data set but its radial functions.

    core, valence: numbers of electrons; xc_name as in the file (`functional` is its short name);
    relativity: "scalar-relativistic" or what the file says; variant: the middle of a name like Cr.14.PBE, or "";
    md5, sha256: of the unzipped text; shape: of the compensation charges; energies in hartree; pw_ecut: low,
    medium and high plane-wave cutoff in hartree, as far as the file advises;
    has_exact_exchange: whether the file has the exact exchange of the core, with itself and with valence electrons.
    """

    symbol: str
    Z: float
    core: float
    valence: float
    xc_type: str
    xc_name: str
    relativity: str
    generator: str
    dialect: str
    name: str
    variant: str
    file: str
    md5: str
    sha256: str
    states: tuple[PawState, ...]
    shape: CompensationShape
    ae_energy: AtomEnergy
    core_kinetic_energy: float
    pw_ecut: tuple[float, ...] | None
    has_exact_exchange: bool

    @property
    def functional(self) -> str:
        """Short name of the functional the set was made with: LDA, PBE, RPBE, ..."""
        return FUNCTIONAL_NAMES.get(self.xc_name, self.xc_name)

    @property
    def n_projectors(self) -> int:
        """Number of projectors with their m counted, sum of 2l+1."""
        return sum(2 * state.l + 1 for state in self.states)


@dataclass(frozen=True, eq=False)
class PawDataset(PawHeader):
    """A whole data set: the header and the radial functions, all on one grid (read-only arrays).

    *_jg: (j, g) for the states j in the order of `states`; *_g: (g,); *_jj: (j, j), symmetric, and zero between
    different l.  kinetic_energy_difference_jj = <φ_i|T|φ_j> - <φ~_i|T|φ~_j>; exact_exchange_jj: valence-core
    exchange matrix X_ij (for equal m); core_core_exchange: energy of the core; all in hartree.
    None where the file has no such element.
    """

    grid: RadialGrid
    ae_core_density_g: Array
    pseudo_core_density_g: Array
    pseudo_valence_density_g: Array | None
    zero_potential_g: Array
    ae_core_kinetic_energy_density_g: Array | None
    pseudo_core_kinetic_energy_density_g: Array | None
    ae_partial_wave_jg: Array
    pseudo_partial_wave_jg: Array
    projector_jg: Array
    kinetic_energy_difference_jj: Array
    exact_exchange_jj: Array | None
    core_core_exchange: float | None


def split_dataset_name(file_name: str) -> tuple[str, str, str] | None:
    """Element, variant and functional of a name like Si.PBE.gz or Cr.14.PBE; None for any other name.

    "Cr.14.PBE.gz" -> ("Cr", "14", "PBE"); "Si.PBE" -> ("Si", "", "PBE").
    """
    match = _FILE_NAME.fullmatch(stem(file_name))
    return None if match is None else (match[1], match["variant"] or "", match["functional"])


def stem(file_name: str) -> str:
    """A file's name without what says how it is packed."""
    return file_name.removesuffix(".gz").removesuffix(".xml")
