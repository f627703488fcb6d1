"""The description of a calculation while it is put together, step by step, as far as the input allows."""

from dataclasses import dataclass, field, replace

from eigenwerk.dft.basis.grids import GridSizes, sphere_radius, wave_limits
from eigenwerk.dft.basis.plane_waves import PlaneWaveCounts, count_plane_waves
from eigenwerk.dft.crystal.downsampling import Downsampling
from eigenwerk.dft.crystal.kpoints import KPoints
from eigenwerk.dft.crystal.listed_mesh import as_mesh, as_whole_mesh
from eigenwerk.dft.crystal.structure import Structure
from eigenwerk.dft.crystal.symmetry import (
    Symmetry,
    find_symmetry,
    keeping_fixed,
    keeping_strains,
    symmetrise_lattice,
    symmetrise_positions,
    with_field,
    without_spin_flips,
)
from eigenwerk.dft.inputs.checks import (
    check_charge,
    check_idealised,
    check_mesh,
    check_motion,
    check_points_of_vibrations,
    check_single_point,
    check_smearing,
    check_structure,
    check_tolerance,
    check_vacuum,
)
from eigenwerk.dft.inputs.findings import Findings
from eigenwerk.dft.inputs.steps.bands import BandRequest, second_list
from eigenwerk.dft.inputs.steps.datasets import choose_cutoff, choose_datasets, choose_functional
from eigenwerk.dft.inputs.steps.dipole import dipole_correction
from eigenwerk.dft.inputs.steps.electrons import (
    NEUTRAL,
    Electrons,
    band_count,
    electron_count,
    fixed_moment,
    fixed_occupations,
    starting_moments,
)
from eigenwerk.dft.inputs.steps.exchange import (
    check_bands_of_exchange,
    check_data_of_exchange,
    check_mesh_of_exchange,
    check_points_of_exchange,
    core_screened_of,
    downsampling_of,
    exchange_range,
    hybrid_of,
    pair_precision_of,
)
from eigenwerk.dft.inputs.steps.field_files import OF_PARCHG, band_selection, keeps_orbitals, sums_over_path
from eigenwerk.dft.inputs.steps.grids import FINE_TAGS, WAVE_TAGS, choose_precision, grid_sizes
from eigenwerk.dft.inputs.steps.hubbard import hubbard_shells, idle_tags
from eigenwerk.dft.inputs.steps.kpoints import kpoints_of_file, kpoints_of_spacing, self_consistent, with_tetrahedra
from eigenwerk.dft.inputs.steps.motion import (
    DIMER,
    DYNAMICS,
    PATH,
    RELAXATION,
    VIBRATIONS,
    kind_of_motion,
    motion_request,
)
from eigenwerk.dft.inputs.steps.parameters import loop_settings, mixing, solver_tags, symmetry_tolerance
from eigenwerk.dft.inputs.steps.projections import sphere_projection
from eigenwerk.dft.inputs.steps.real_space import check_spheres, projector_accuracy
from eigenwerk.dft.inputs.tags_in_force import Computed, number, tell_idle, whole
from eigenwerk.dft.plan.job_size import JobSize, job_size, with_lists
from eigenwerk.dft.plan.layout import ProcessLayout
from eigenwerk.dft.plan.machine import processor
from eigenwerk.dft.plan.memory import MemoryEstimate, estimate_memory
from eigenwerk.dft.settings.dataset import DataSet
from eigenwerk.dft.settings.parameters import Parameters
from eigenwerk.functionals.functional import Functional
from eigenwerk.functionals.hybrid import Hybrid
from eigenwerk.functionals.table import DEFAULT, FUNCTIONALS
from eigenwerk.io.vasp.input.incar import Incar
from eigenwerk.io.vasp.input.kpoints import KpointsFile
from eigenwerk.io.vasp.input.poscar import Poscar
from eigenwerk.io.vasp.wavecar import wavecar_bytes
from eigenwerk.motion.prediction import LONGEST
from eigenwerk.motion.relaxation.chart import followed_strains
from eigenwerk.motion.relaxation.relaxation_settings import RelaxationSettings
from eigenwerk.parallel.memory.block_sizes import BATCH_POINTS
from eigenwerk.parallel.memory.main_memory import installed_memory
from eigenwerk.units import BOHR_ANGSTROM, HARTREE_EV


@dataclass
class InputsBuilder:
    """What is known so far; None where the input does not allow it.

    incar: without the tags that have errors; computed: values (and origins) of tags that depend on other input;
    second_file: KPOINTS_OPT; path_words: of `--bands`; fixed_density: whether the density is kept;
    keeps_orbitals: whether those of all k-points are in memory.
    """

    incar: Incar
    poscar: Poscar
    kpoints_file: KpointsFile | None
    kpoints_broken: bool
    findings: Findings
    computed: dict[str, Computed] = field(default_factory=dict)
    datasets: dict[str, DataSet] = field(default_factory=dict)
    structure: Structure | None = None
    symmetry: Symmetry | None = None
    kpoints: KPoints | None = None
    grids: GridSizes | None = None
    waves: PlaneWaveCounts | None = None
    parameters: Parameters | None = None
    size: JobSize | None = None
    memory: MemoryEstimate | None = None
    second_file: KpointsFile | None = None
    path_words: str | None = None
    fixed_density: bool = False
    keeps_orbitals: bool = True
    bands: BandRequest | None = None
    _functional: Functional = FUNCTIONALS[DEFAULT]
    _hybrid: Hybrid | None = None
    _downsampling: Downsampling | None = None
    _cutoff_ev: float | None = None
    _precision: str = ""
    _electrons: float | None = None
    _moment: float | None = None
    _hubbard: dict[str, tuple[int, float]] = field(default_factory=dict)

    def fill(self) -> None:
        """All steps in their order."""
        self._data()
        self.motion, computed = motion_request(self.incar, self.poscar, self.findings, self.fixed_density)
        self.computed |= computed
        check_structure(self.poscar, self.datasets, self.findings)
        check_smearing(self.incar, self.findings)
        check_tolerance(self.incar, self.findings)
        self._crystal()
        check_motion(self.incar, self.structure, self.motion, self.findings)
        self._points()
        self._second_points()
        self._grids()
        self._bands()
        if self.structure is not None and self.kpoints is not None:
            check_vacuum(self.structure, self.kpoints, self.incar, self._electrons, self.findings)

    @property
    def cutoff(self) -> float | None:
        """Of the plane waves, hartree, if it is known."""
        return None if self._cutoff_ev is None else self._cutoff_ev / HARTREE_EV

    def _data(self) -> None:
        """Data sets, cutoff and electrons."""
        self._functional = choose_functional(self.incar, self.findings)
        self._hybrid, computed = hybrid_of(self.incar, self._functional, self.findings)
        self.computed |= computed
        self.datasets = choose_datasets(self.poscar, self.incar, self._functional, self.findings)
        if self.datasets and "LMAXMIX" not in self.incar.values:
            highest = 2 * max(state.l for data in self.datasets.values() for state in data.header.states)
            self.computed["LMAXMIX"] = Computed(max(highest, 2), "from the data sets")
        if self.incar.get("LHFCALC"):
            check_data_of_exchange(self.datasets, self.incar, self.findings)
        missing = set(self.poscar.symbols) - self.datasets.keys()
        if not missing or "ENCUT" in self.incar.values:
            self._cutoff_ev, self.computed["ENCUT"] = choose_cutoff(
                self.incar, self.poscar, self.datasets, self.findings
            )
        self._precision, self.computed["PREC"] = choose_precision(
            self.incar, self.poscar.symbols, self._cutoff_ev, self.findings
        )
        self._electrons, self.computed["NELECT"] = electron_count(self.incar, self.poscar, self.datasets, self.findings)
        if self._electrons is not None:
            self._moment = fixed_moment(self.incar, self._electrons, self.findings)

    def _crystal(self) -> None:
        """The structure in bohr, made symmetric within SYMPREC, and its symmetry."""
        moment_a, self.computed["MAGMOM"] = starting_moments(
            self.incar, self.poscar, self._moment, self.findings
        )
        self._hubbard, kinds = hubbard_shells(self.incar, self.poscar, self.datasets, self.findings)
        with self.findings.collecting(self.poscar.file):
            structure = Structure(
                self.poscar.lattice_cv / BOHR_ANGSTROM, self.poscar.symbols, self.poscar.scaled_ac, moment_a, kinds
            )
            tolerance = symmetry_tolerance(self.incar)
            level = whole(self.incar, "ISYM")
            if kind_of_motion(self.incar) in (DYNAMICS, PATH, DIMER):
                level = min(level, 0)
            symmetry = find_symmetry(structure, tolerance, level)
            if self._moment is not None:
                symmetry = without_spin_flips(symmetry)
            axis = whole(self.incar, "IDIPOL")
            if number(self.incar, "EFIELD") and axis in (1, 2, 3):
                symmetry = with_field(symmetry, structure, axis - 1)
            if kind_of_motion(self.incar) == RELAXATION:
                symmetry = keeping_fixed(symmetry, self.poscar.selective_ac)
                if self.motion is not None and isinstance(self.motion.settings, RelaxationSettings):
                    symmetry = keeping_strains(symmetry, followed_strains(self.motion.settings))
            # spheres of plane waves must map exactly onto each other, so the tolerance ends here
            self.structure = symmetrise_positions(symmetrise_lattice(structure, symmetry), symmetry)
            self.symmetry = replace(symmetry, lattice_cv=self.structure.lattice_cv)
            check_idealised(structure, self.structure, self.findings)

    def _points(self) -> None:
        """k-points from the file, else from KSPACING."""
        if self.structure is None or self.symmetry is None or self.kpoints_broken:
            return
        source = self.incar.file if self.kpoints_file is None else self.kpoints_file.file
        line = self.incar.line_of.get("KSPACING") if self.kpoints_file is None else None
        with self.findings.collecting(source, line):
            self.bands = BandRequest()
            if self.kpoints_file is not None:
                found = kpoints_of_file(self.kpoints_file, self.poscar, self.structure, self.symmetry)
                if not self.fixed_density:
                    found, weightless = self_consistent(
                        found, self.kpoints_file, bool(self.incar.get("LHFCALC"))
                    )
                    self.bands = BandRequest(weightless)
                self.kpoints = found
            else:
                self.kpoints = kpoints_of_spacing(
                    number(self.incar, "KSPACING"), bool(self.incar.get("KGAMMA")), self.structure, self.symmetry
                )
            self.kpoints = with_tetrahedra(self.kpoints, self.structure, self.kpoints_file, self.incar, self.findings)
            for note in self.symmetry.notes:
                self.findings.note("POSCAR", note)
            check_mesh(self.kpoints, source, self.findings)
            coarse = False
            if self.incar.get("LHFCALC"):
                self._downsampling = downsampling_of(self.incar, self.kpoints, self._hybrid, self.findings)
                # a part of the differences is one of those of the mesh that was asked for
                whole, lattice_cv = as_whole_mesh if self._downsampling is None else as_mesh, self.structure.lattice_cv
                self.kpoints = whole(self.kpoints)
                coarse = check_points_of_exchange(self.kpoints, lattice_cv, self._hybrid, source, self.findings)
                check_mesh_of_exchange(
                    self.kpoints, self._hybrid, self._downsampling, self._vibrates, source, self.findings
                )
            if self._vibrates:
                check_points_of_vibrations(self.kpoints, source, self.findings)
            if not coarse and not self.fixed_density:
                check_single_point(self.structure, self.kpoints, source, self.findings)

    @property
    def _vibrates(self) -> bool:
        return self.motion is not None and self.motion.kind == VIBRATIONS

    def _second_points(self) -> None:
        """A second list of k-points, or a path."""
        if self.structure is None or self.symmetry is None or self.bands is None:
            return
        second, text = second_list(
            self.incar, self.second_file, self.path_words, self.poscar, self.structure, self.symmetry, self.findings
        )
        self.bands = replace(self.bands, second=second, path_text=text)
        check_bands_of_exchange(self.bands, self._hybrid, self.incar, self.findings)
        if second is None:
            self.computed["KSPACING_OPT"] = Computed(None)

    def _grids(self) -> None:
        """FFT grids and numbers of plane waves."""
        cutoff = self.cutoff
        if self.structure is None or self.kpoints is None or cutoff is None:
            return
        self.grids, origins = grid_sizes(
            self.incar, self.structure, self.kpoints.symmetry, cutoff, self._precision, self.findings
        )
        self.computed |= origins
        self.waves = count_plane_waves(self.structure, sphere_radius(cutoff), self.kpoints.point_kc)

    def _listed(self) -> list[tuple[KPoints, PlaneWaveCounts]]:
        """k-points whose bands come besides, with their plane waves."""
        assert self.structure is not None and self._cutoff_ev is not None
        radius, lists = sphere_radius(self._cutoff_ev / HARTREE_EV), () if self.bands is None else self.bands.lists
        return [(points, count_plane_waves(self.structure, radius, points.point_kc)) for points in lists]

    def _bands(self) -> None:
        """Bands and occupations; then everything is known that `Parameters` holds."""
        if self._electrons is None or self.structure is None:
            return
        points = None if self.kpoints is None else len(self.kpoints.point_kc)
        fewest = None if self.waves is None else min(
            one.fewest for one in (self.waves, *(waves for _, waves in self._listed()))
        )
        neutral = sum(self.datasets[symbol].header.valence for symbol in self.poscar.symbols)
        bands, self.computed["NBANDS"] = band_count(
            self.incar, self.structure, self.datasets, Electrons(self._electrons, neutral, self._moment), fewest,
            self.findings,
        )  # fmt: skip
        occupations = fixed_occupations(self.incar, self._electrons, bands, points, self.findings)
        if self.waves is None or self.grids is None or self.kpoints is None or self._cutoff_ev is None:
            return
        if fewest is not None and bands > fewest:
            message = f"{bands} bands are more than the {fewest} plane waves of one k-point"
            given = "NBANDS" in self.incar.values
            remedy = "Raise ENCUT, or set a smaller NBANDS." if given else "Raise ENCUT."
            self.findings.add(self.incar.problem("NBANDS" if given else "ENCUT", message, remedy))
        by_hand = any(tag in self.incar.values for tag in (*WAVE_TAGS, *FINE_TAGS))
        mixed, from_structure = mixing(self.incar, self.structure)
        chosen = solver_tags(self.incar)
        self.computed |= from_structure | idle_tags(self.incar, self.findings) | chosen.computed
        charge = neutral - self._electrons
        check_charge(self.structure, charge, self.incar, self.findings)
        if abs(charge) <= NEUTRAL:
            self.computed["EPSILON"] = Computed(None)
        dipole, computed = dipole_correction(self.incar, self.structure, charge, self.findings)
        self.computed |= computed
        accuracy, self.computed["ROPT"] = projector_accuracy(self.incar, self.poscar, self.kpoints, self.findings)
        projection, self.computed["RWIGS"] = sphere_projection(self.incar, self.poscar, self.datasets, self.findings)
        with self.findings.collecting(self.incar.file):
            band_selection(self.incar, bands, len(self.kpoints.point_kc))
        if not self.incar.get("LPARD"):
            tell_idle(self.incar, (("LPARD = .TRUE.", OF_PARCHG),), self.findings)
        self.findings.add(*sums_over_path(self.incar, self.kpoints.samples_zone))
        self.parameters = Parameters(
            cutoff=self._cutoff_ev / HARTREE_EV,
            precision=self._precision,
            electrons=self._electrons,
            bands=bands,
            wave_grid=self.grids.wave if by_hand else None,
            fine_grid=self.grids.fine if by_hand else None,
            fixed_occupations=occupations,
            fixed_moment=self._moment,
            mixing=mixed,
            hubbard=self._hubbard,
            real_space=accuracy,
            projection=projection,
            solver=chosen.solver,
            functional=self._functional.tag,
            hybrid=self._hybrid,
            exchange_range=exchange_range(self.bands, self._hybrid),
            downsampling=self._downsampling,
            pair_precision=pair_precision_of(self.incar),
            core_screened=core_screened_of(self.incar, self._hybrid),
            dipole=dipole,
            **loop_settings(self.incar, chosen.frozen_steps, self.findings),
        )
        self.size = job_size(self.structure, self.kpoints, self.parameters, self.grids, self.waves, self.datasets)
        wavecar = wavecar_bytes(self.parameters.spins, len(self.kpoints.point_kc), bands, self.waves.most)
        if self.fixed_density:
            self.keeps_orbitals = keeps_orbitals(self.incar, self.kpoints.samples_zone, wavecar)
        if not self.keeps_orbitals:  # batch by batch
            self.size = replace(self.size, kpoints=min(self.size.kpoints, BATCH_POINTS))
        self.size = with_lists(self.size, self._listed(), self.parameters, self.kpoints.symmetry)
        if self.motion is not None:
            states = LONGEST[self.motion.prediction]
            if self.motion.kind == PATH:  # which are kept of each image
                states = (states + 1) * (whole(self.incar, "IMAGES") + 2)
            self.size = replace(self.size, earlier=states)
        if accuracy:
            limits = wave_limits(self.structure, self.grids, self.parameters.cutoff)
            self.size = check_spheres(
                self.incar, accuracy, self.datasets, self.structure, limits, self.size, self.findings
            )
        self.memory = estimate_memory(self.size, ProcessLayout(), processor(installed_memory() or 0))
