"""What a finished, or unconverged, run hands to the writers of output files: a sequence of ionic steps, often of one.

Everything is in the units of the files: eV, Angstrom, eV/Angstrom, kB, Bohr magnetons, seconds; numpy arrays
and plain Python values only.  Each writer of `files.py` writes a part of one `RunRecord`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import numpy as np

from eigenwerk.io.quantity import NO_VALUES, Values, number, numbers_of, plain, require_shapes
from eigenwerk.io.run_stamp import RunStamp
from eigenwerk.io.vasp.input.poscar import Poscar
from eigenwerk.io.vasp.output.weights.projections import F
from eigenwerk.io.vasp.output.xml.vibrations import VibrationRecord
from eigenwerk.io.vasp.volumetric import Volumetric
from eigenwerk.units import BOHR_ANGSTROM, FORCE_EV_PER_ANGSTROM, HARTREE_EV, STRESS_KILOBAR


@dataclass(frozen=True, eq=False)
class KpointGeneration:
    """How a mesh of k-points was asked for.

    kind: 'Gamma' or 'Monkhorst-Pack'; mesh: three divisions; shift: the user's shift in units of one mesh step.
    Or kind 'listgenerated', a path: per_line, points on each line; end_kc: (x, 3), where lines begin and the last ends.
    """

    kind: str
    mesh: tuple[int, int, int] = (1, 1, 1)
    shift: tuple[float, float, float] = (0.0, 0.0, 0.0)
    per_line: int = 0
    end_kc: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class TetrahedraRecord:
    """Tetrahedra between the k-points: rows_Tx, (T, 5) integers, how many are alike and their corners, from 1; volume:
    the part of the Brillouin zone that one of them fills."""

    rows_Tx: np.ndarray
    volume: float


@dataclass(frozen=True, eq=False)
class BandsRecord:
    """Bands at a second list of k-points (KPOINTS_OPT); fields as those of `RunRecord` and `FinalRecord`."""

    kpoint_kc: np.ndarray
    weight_k: np.ndarray
    eig_skn: np.ndarray
    occ_skn: np.ndarray
    generation: KpointGeneration | None = None
    label_k: tuple[str, ...] = ()
    projections: "ProjectionRecord | None" = None


@dataclass(frozen=True, eq=False)
class SpeciesRecord:
    """One species of the structure, in the order of the POSCAR.

    mass in atomic mass units, valence in electrons.  `title` takes the place of VASP's TITEL and begins like one:
    a word for the functional family (PAW_PBE for gradient functionals, PAW for LDA) and the data set's name, parted
    by a blank, because readers take the first two words; then package, version, file and checksum follow.
    """

    count: int
    element: str
    mass: float
    valence: float
    title: str


def dataset_title(gradient: bool, element: str, package: str, filename: str, checksum: str) -> str:
    """Title of a data set as it appears where VASP prints TITEL, e.g. 'PAW_PBE Si gpaw-data 1.2.1 Si.PBE md5:ee77'.

    gradient: data generated with a gradient functional; package: name and version; checksum with its kind.
    """
    return f"{'PAW_PBE' if gradient else 'PAW'} {element} {package} {filename} {checksum}"


@dataclass(frozen=True, eq=False)
class StepRecord:
    """One step of self-consistency.

    algorithm: the short word of the solver, 'DAV' for Davidson; precision: in which it worked.  free_energy,
    energy_without_entropy, energy_zero (extrapolated to zero smearing), change (of the free energy) and
    band_energy_change in eV.  applications: how often the Hamiltonian was applied to an orbital; residual: norm of the
    orbital residuals, eV; density_residual: norm of the density residual, electrons, None while the density is frozen;
    moment in Bohr magnetons, None without spin.  events: what mixer and solver had to do, in words.
    """

    step: int
    algorithm: str
    free_energy: float
    energy_without_entropy: float
    energy_zero: float
    change: float
    band_energy_change: float
    applications: int
    residual: float
    density_residual: float | None = None
    moment: float | None = None
    seconds: float = 0.0
    events: tuple[str, ...] = ()
    precision: str = "double"


@dataclass(frozen=True, eq=False)
class DensityOfStates:
    """Total density of states on a uniform grid.

    energy_x: (x,) eV; total_sx: (s, x) states per eV and cell; integrated_sx: (s, x) states per cell; partial_sxaL: the
    parts of the atoms, or None, in columns with the names of those of `ProjectionRecord`.
    One row holds both spins of an unpolarised run.
    """

    energy_x: np.ndarray
    total_sx: np.ndarray
    integrated_sx: np.ndarray
    partial_sxaL: np.ndarray | None = None
    columns: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class ProjectionRecord:
    """Weights of orbitals on atoms.

    columns: their names for one atom, by l and m or by l alone, which the axis L counts (`projections.py`).
    weight_sknaL: part of each orbital in the spheres; phase_sknaL: complex, with the weights as squares, or None.
    radius_a: of the spheres, Angstrom.
    """

    columns: tuple[str, ...]
    weight_sknaL: np.ndarray
    radius_a: np.ndarray
    phase_sknaL: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class BasisRecord:
    """Grids and plane waves.

    wave_grid, fine_grid: FFT points along the three lattice axes; count_k: plane waves of each k-point, (k,).
    """

    wave_grid: tuple[int, int, int]
    fine_grid: tuple[int, int, int]
    count_k: np.ndarray


@dataclass(frozen=True, eq=False)
class OrbitalRecord:
    """Orbitals: count_k plane waves with the integers index_kGc, and coefficients coeff_sknG, Σ_G c exp(i(k+G)r)/√Ω,
    padded along G to the longest sphere."""

    count_k: tuple[int, ...]
    index_kGc: np.ndarray
    coeff_sknG: np.ndarray


@dataclass(frozen=True, eq=False)
class ResourceRecord:
    """What a run took that is over: wall time since its start (s), and of the process that writes its processor times
    (s), largest resident memory (kB), page faults and voluntary context switches."""

    elapsed: float
    user: float
    system: float
    max_memory: float
    minor_faults: int
    major_faults: int
    switches: int


def largest_norm(force_av: np.ndarray) -> float:
    """The largest norm of the forces on one atom."""
    return float(np.linalg.norm(force_av, axis=1).max())


def pressure(stress_vv: np.ndarray) -> float:
    """Of a cell on what surrounds it, from its stress, positive where it wants to shrink."""
    return -float(np.trace(stress_vv)) / 3


@dataclass(frozen=True, eq=False)
class IonicStep:
    """One arrangement of the ions and what was found for it.

    steps: those of self-consistency; components: of the absolute energy, name to value, eV; remarks: what whoever moves
    the atoms says, in words.  absolute_energy: with all-electron atoms; charge_xal: electrons in spheres by angular
    momentum, x: all and, with spin, the magnetisation; force_error: from a density that is not self-consistent; stress
    positive where the cell wants to expand, pulay: in its pressure; thermostat: potential energy; largest_...: of what
    may move; tangent_force, spring_force: along a path of images; curvature, direction_av: of a dimer.  Where a
    `number` is declared, the record of a state, its columns in eigenwerk.h5, shapes and the JSON document go by that.

    Raises ValueError if there is no step or if shapes do not fit together: a mistake of the caller, not of the user.
    """

    lattice_cv: np.ndarray = field(metadata=number("Å", BOHR_ANGSTROM, "cv"))
    scaled_ac: np.ndarray = field(metadata=number("", axes="ac"))
    steps: tuple[StepRecord, ...]
    free_energy: float = field(metadata=number("eV", HARTREE_EV))
    energy_without_entropy: float = field(metadata=number("eV", HARTREE_EV))
    energy_zero: float = field(metadata=number("eV", HARTREE_EV))
    converged: bool
    components: Mapping[str, float]
    absolute_energy: float | None = field(default=None, metadata=number("eV", HARTREE_EV))
    moment: float | None = field(default=None, metadata=number("μB", moment_muB=plain))
    moment_a: np.ndarray | None = field(default=None, metadata=number("μB", axes="a", moment_per_atom_muB=plain))
    charge_xal: np.ndarray | None = field(default=None, metadata=number("e", axes="xal", spheres=plain))
    forces_av: np.ndarray | None = field(default=None, metadata=number(
        "eV/Å", FORCE_EV_PER_ANGSTROM, "av", forces_eV_per_A=plain,
        largest_force_eV_per_A=lambda force_av, _: largest_norm(force_av),
    ))  # fmt: skip
    force_error: float | None = field(
        default=None, metadata=number("eV/Å", FORCE_EV_PER_ANGSTROM, force_error_eV_per_A=plain)
    )
    stress_vv: np.ndarray | None = field(default=None, metadata=number(
        "kB", -STRESS_KILOBAR, "vv", stress_GPa=lambda stress_vv, _: (-stress_vv / 10).tolist(),
        pressure_GPa=lambda stress_vv, _: pressure(-stress_vv / 10),
    ))  # fmt: skip
    pulay: float | None = field(
        default=None, metadata=number("kB", STRESS_KILOBAR, pulay_pressure_GPa=lambda pulay, _: pulay / 10)
    )
    seconds: float | None = field(default=None, metadata=number("s"))
    velocities_av: np.ndarray | None = field(default=None, metadata=number("Å/fs", axes="av"))
    lattice_velocity_cv: np.ndarray | None = field(default=None, metadata=number("Å/fs", axes="cv"))
    temperature: float | None = field(default=None, metadata=number("K"))
    kinetic: float | None = field(default=None, metadata=number("eV"))
    thermostat: float | None = field(default=None, metadata=number("eV"))
    thermostat_kinetic: float | None = field(default=None, metadata=number("eV"))
    lattice_kinetic: float | None = field(default=None, metadata=number("eV"))
    conserved: float | None = field(default=None, metadata=number("eV"))
    largest_force: float | None = field(default=None, metadata=number("eV/Å"))
    largest_stress: float | None = field(default=None, metadata=number("kB"))
    tangent_force: float | None = field(default=None, metadata=number("eV/Å"))
    spring_force: float | None = field(default=None, metadata=number("eV/Å"))
    curvature: float | None = field(default=None, metadata=number("eV/Å²"))
    direction_av: np.ndarray | None = field(default=None, metadata=number("", axes="av"))
    remarks: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.steps:
            raise ValueError("IonicStep without steps: readers of the files expect at least one")
        require_shapes({one: getattr(self, one.name) for one in numbers_of(IonicStep)})

    @property
    def force(self) -> float | None:
        """The largest on an atom, whether that may move or not, eV/Å."""
        return None if self.forces_av is None else largest_norm(self.forces_av)

    @property
    def pressure(self) -> float | None:
        """Of the cell on what surrounds it, GPa."""
        return None if self.stress_vv is None else float(np.trace(self.stress_vv)) / 30

    @property
    def total(self) -> float:
        """The quantity that dynamics conserves; free and kinetic energy where nothing is conserved, eV."""
        return self.free_energy + (self.kinetic or 0.0) if self.conserved is None else self.conserved

    @property
    def dispersion(self) -> float | None:
        """What a dispersion correction (IVDW) gives to all energies, eV; None without."""
        return self.components.get("dispersion")

    @property
    def non_local(self) -> float | None:
        """Non-local correlation (LUSE_VDW) of the smooth density, eV, that of the atoms not taken off; None without."""
        return self.components.get("non-local")


@dataclass(frozen=True, eq=False)
class FinalRecord:
    """The electrons of the last ionic step, and how the run ended.

    fermi_level in eV; separate_levels: those of both spins where none lies between filled and empty states of both (a
    moment that is held); fermi_level is then the higher one.  eig_skn: (s, k, n) eV; occ_skn: (s, k, n) between 0 and 1
    per state of one spin, also without spin polarisation.  status: one sentence for people.  `dos` is needed because
    readers find the Fermi level in that block only.  projections: on atoms, or None; with them the density of states
    has parts.  values: of the analyses of the state.
    """

    fermi_level: float
    eig_skn: np.ndarray
    occ_skn: np.ndarray
    status: str
    dos: DensityOfStates
    projections: ProjectionRecord | None = None
    values: Values = NO_VALUES
    separate_levels: tuple[float, ...] = ()


@dataclass(frozen=True)
class RunReport:
    """A run in words for people.

    described: (label, words) of what was to be computed; settings: (tag, value with its unit, where the value comes
    from) of all tags in force; found: (label, words) of the levels.  warnings, notes, advice: sentences.
    reached: whether the run has reached all it was for: electrons, bands, atoms at rest.
    """

    described: tuple[tuple[str, str], ...] = ()
    settings: tuple[tuple[str, str, str], ...] = ()
    found: tuple[tuple[str, str], ...] = ()
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()
    reached: bool = True


@dataclass(frozen=True, eq=False, repr=False)
class RunRecord:
    """Everything the writers need from one run.

    title: first line of the POSCAR.  incar: tag to value, as the user set them; parameters: all VASP tags in force
    (ENMAX for the cutoff).  Values are bool, int, float, str, or sequences of one of these.  kpoint_kc: (k, c) in units
    of the reciprocal vectors; weight_k: (k,) with sum one.  symbols: one per atom, atoms of a species together, in the
    order of `species`.  ionic_steps: one in a single-point run.  selective_ac: (a, c) of bool, True = may move, or
    None.  poscar: the file the run started from, whose suffixes of names and velocities of the lattice CONTCAR keeps,
    or None.  stamp: the mark of the run, or None.  fields: densities and potentials by the names of their files.
    ranks: processes of the run.  resources: None as long as it is not over.
    second: bands at a second list of k-points, or None.  orbitals: those for WAVECAR, or None.  vibrations: what finite
    displacements found, or None.
    run_report: the run in words, or None.  tetrahedra: with which occupations were found, or None.  relaxed: whether a
    relaxation has found what it was for; False as long as it has not, and of runs that are none.  angular_momenta: how
    many l tables of charges in the spheres show.

    Raises ValueError if there is no ionic step or if shapes do not fit together: a mistake of the caller.
    """

    version: str
    start: datetime
    title: str
    incar: Mapping[str, Any]
    parameters: Mapping[str, Any]
    kpoint_kc: np.ndarray
    weight_k: np.ndarray
    symbols: tuple[str, ...]
    species: tuple[SpeciesRecord, ...]
    ionic_steps: tuple[IonicStep, ...]
    final: FinalRecord
    generation: KpointGeneration | None = None
    selective_ac: np.ndarray | None = None
    poscar: Poscar | None = None
    stamp: RunStamp | None = None
    fields: Mapping[str, Volumetric] = field(default_factory=dict)
    basis: BasisRecord | None = None
    ranks: int = 1
    resources: ResourceRecord | None = None
    second: BandsRecord | None = None
    orbitals: OrbitalRecord | None = None
    vibrations: VibrationRecord | None = None
    run_report: RunReport | None = None
    tetrahedra: TetrahedraRecord | None = None
    relaxed: bool = False
    angular_momenta: int = F

    def __repr__(self) -> str:
        return f"<record of {len(self.symbols)} atoms, {len(self.ionic_steps)} ionic steps: {self.final.status}>"

    @property
    def last(self) -> IonicStep:
        """The last ionic step, to which `final` belongs."""
        return self.ionic_steps[-1]

    @property
    def at_rest(self) -> IonicStep:
        """The ionic step with the structure that a run ends with, and where the next one begins.

        Atoms displaced for vibrations go back; dynamics goes on from the last point whose velocities are known.
        """
        if self.parameters.get("IBRION") in (5, 6):
            return self.ionic_steps[0]
        known = [ionic for ionic in self.ionic_steps[-2:] if ionic.kinetic is not None]
        return known[-1] if known else self.last

    def __post_init__(self) -> None:
        if not self.ionic_steps:
            raise ValueError("RunRecord without ionic steps: readers of the files expect at least one")
        if tuple(self.symbols) != tuple(s.element for s in self.species for _ in range(s.count)):
            raise ValueError(f"RunRecord: symbols {self.symbols} do not follow the species {self.species}")
        atoms, kpoints = len(self.symbols), len(self.weight_k)
        spins, _, bands = self.final.eig_skn.shape
        _require("kpoint_kc", self.kpoint_kc, (kpoints, 3))
        for step in self.ionic_steps:
            _require("scaled_ac", step.scaled_ac, (atoms, 3))
        _require("selective_ac", self.selective_ac, (atoms, 3))
        _require("count_k", None if self.basis is None else self.basis.count_k, (kpoints,))
        _require("eig_skn", self.final.eig_skn, (spins, kpoints, bands))
        _require("occ_skn", self.final.occ_skn, (spins, kpoints, bands))


def _require(name: str, array: np.ndarray | None, shape: tuple[int, ...]) -> None:
    """Raise ValueError if an array that is there has another shape."""
    if array is not None and array.shape != shape:
        raise ValueError(f"{name} has shape {array.shape}, expected {shape}")
