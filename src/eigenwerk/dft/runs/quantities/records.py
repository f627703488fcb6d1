"""From a State to what the output files hold: eV, Angstrom and Bohr magnetons in a `RunRecord`.

This is the one place of the engine where results leave its own units.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

import numpy as np
import torch

from eigenwerk import __version__
from eigenwerk.dft.after.band_structure import BandStructure, band_structure, filled_bands_of
from eigenwerk.dft.after.density_of_states import Counting, counting, density_of_states, energy_grid
from eigenwerk.dft.after.fixed_potential import PointBands
from eigenwerk.dft.after.projections import Projections
from eigenwerk.dft.after.table import NOTHING, OF_IONIC_STEPS, ground_values
from eigenwerk.dft.calculation import GroundState
from eigenwerk.dft.crystal.tetrahedra import TETRAHEDRA
from eigenwerk.dft.filling.occupations import make_smearing, occupations_at
from eigenwerk.dft.inputs.inputs import Inputs
from eigenwerk.dft.runs.fixed_density import FixedDensity
from eigenwerk.dft.runs.quantities.given import generation_of, incar_tags, species_of, tags_in_force, tetrahedra_of
from eigenwerk.dft.scf.state import ScfStep, State
from eigenwerk.dft.settings.projection import kinds_of_l
from eigenwerk.dft.terms.energies import Energies
from eigenwerk.io.paw.dataset import PawDataset
from eigenwerk.io.quantity import Values
from eigenwerk.io.run_stamp import RunStamp
from eigenwerk.io.vasp.output.record import (
    BandsRecord,
    DensityOfStates,
    FinalRecord,
    IonicStep,
    ProjectionRecord,
    RunRecord,
    StepRecord,
)
from eigenwerk.io.vasp.output.weights.projections import BY_L, by_l, columns
from eigenwerk.io.vasp.volumetric import Volumetric
from eigenwerk.motion.mover import Report
from eigenwerk.units import BOHR_ANGSTROM, HARTREE_EV


@dataclass(frozen=True)
class Observables:
    """What a finished state has and one on the way does not.

    values: of the ground state (`after/quantities.py`, hartree and bohr) and of analyses (`after/table.py`).  fields:
    densities and potentials by the names of their files, in the units of files.  seconds: wall time of the ionic step;
    weightless, second: bands at the points of `BandRequest`; kept: the density that was kept, if one was, and main: its
    bands; projections: of the orbitals on atoms; report: of whoever moves the atoms; relaxed: that a relaxation has
    found what it was for.
    """

    values: Values = NOTHING
    fields: Mapping[str, Volumetric] = field(default_factory=dict)
    seconds: float | None = None
    weightless: PointBands | None = None
    second: PointBands | None = None
    kept: FixedDensity | None = None
    main: PointBands | None = None
    projections: Projections | None = None
    report: Report | None = None
    relaxed: bool = False

    @staticmethod
    def of(ground: GroundState, report: Report | None = None) -> "Observables":
        """What a ground state has, with what whoever moves the atoms says of it."""
        values = ground_values(vars(ground)) | NOTHING
        return Observables(values, seconds=ground.seconds, projections=ground.projections, report=report)

    @property
    def knows_forces(self) -> bool:
        """Whether the ionic step is over."""
        return self.values.get("forces_av") is not None


def run_record(
    inputs: Inputs,
    datasets: Mapping[str, PawDataset],
    state: State,
    observables: Observables,
    status: str,
    start: datetime,
    converged: bool,
    earlier: tuple[IonicStep, ...] = (),
    stamp: RunStamp | None = None,
) -> RunRecord:
    """What the files of a run are made of.

    status: how the run ended, one sentence; start: when it began; converged: to be marked as the result; earlier: ionic
    steps before that of the state; stamp: the mark of files of this run.
    """
    poscar, generation = inputs.poscar, generation_of(inputs.kpoints)
    if inputs.motion is not None:  # displaced atoms have fewer operations than the start, and more k-points
        inputs = replace(inputs, parts=replace(inputs.parts, kpoints=state.system.basis.kpoints))
    kpoint_kc, weight_k = inputs.kpoints.point_kc, inputs.kpoints.weight_k
    final = _final(inputs, state, observables, status)
    if observables.weightless is not None and inputs.bands.weightless is not None:
        place_k, rest = inputs.bands.weightless.place_k, observables.weightless
        eig_skn, occ_skn = levels(state, rest)
        kpoint_kc = _inserted(kpoint_kc, rest.kpoints.point_kc, place_k)
        weight_k = _inserted(weight_k, np.zeros(len(place_k)), place_k)
        final = replace(
            final, eig_skn=_inserted(final.eig_skn, eig_skn, place_k, 1),
            occ_skn=_inserted(final.occ_skn, occ_skn, place_k, 1),
            projections=_with_points(final.projections, projection_record(inputs, rest.projections), place_k),
        )
    return RunRecord(
        version=__version__, start=start, title=poscar.title, incar=incar_tags(inputs),
        parameters=tags_in_force(inputs), kpoint_kc=kpoint_kc, weight_k=weight_k,
        symbols=poscar.symbols, species=tuple(species_of(inputs, datasets)),
        ionic_steps=(*earlier, ionic_step(inputs, state, observables, converged)),
        final=final,
        generation=generation, poscar=poscar, selective_ac=poscar.selective_ac, stamp=stamp,
        fields=observables.fields, relaxed=observables.relaxed, tetrahedra=tetrahedra_of(inputs),
        second=None if observables.second is None else _second(inputs, state, observables.second),
        angular_momenta=kinds_of_l(inputs.data),
    )  # fmt: skip


def _with_points(
    main: ProjectionRecord | None, more: ProjectionRecord | None, place_k: np.ndarray
) -> ProjectionRecord | None:
    """Projections with those at points of weight zero."""
    if main is None or more is None:
        return main
    phase_sknaL = main.phase_sknaL
    if phase_sknaL is not None and more.phase_sknaL is not None:
        phase_sknaL = _inserted(phase_sknaL, more.phase_sknaL, place_k, 1)
    weight_sknaL = _inserted(main.weight_sknaL, more.weight_sknaL, place_k, 1)
    return replace(main, weight_sknaL=weight_sknaL, phase_sknaL=phase_sknaL)


def _inserted(value_x: np.ndarray, more_x: np.ndarray, place_x: np.ndarray, axis: int = 0) -> np.ndarray:
    """Values in the order of a list in which some, those of weight zero, have these places."""
    count = value_x.shape[axis] + more_x.shape[axis]
    order_x = np.argsort(np.concatenate([np.setdiff1d(np.arange(count), place_x), place_x]))
    return np.concatenate([value_x, more_x], axis).take(order_x, axis)


def levels(state: State, bands: PointBands) -> tuple[np.ndarray, np.ndarray]:
    """Bands at other k-points in eV, and their occupations at the Fermi level of a state, 0 to 1."""
    parameters, filled = state.system.parameters, state.occupations
    # tetrahedra say nothing about other points than their corners
    sharp = parameters.ismear in TETRAHEDRA
    smearing = None if sharp else make_smearing(parameters.ismear, parameters.fixed_occupations)
    occ_skn = occupations_at(bands.eig_skn, filled.fermi_level_s, smearing, parameters.width)
    return bands.eig_skn.numpy() * HARTREE_EV, occ_skn.numpy()


def structure_of_bands(inputs: Inputs, state: State, observables: Observables) -> BandStructure | None:
    """The bands of a second list of k-points, or those of a path in a density that is kept; None without."""
    bands = observables.second
    if bands is None and inputs.kpoints.line_k is not None:
        bands = observables.main
    if bands is None:
        return None
    fermi_s, kept = [level * HARTREE_EV for level in state.occupations.fermi_level_s], observables.kept
    if kept is not None and kept.fermi_s is not None:
        filled_s = kept.filled_s
    else:
        eig_skn, occ_skn = state.eig_skn.numpy() * HARTREE_EV, state.occupations.occ_skn.numpy()
        filled_s = filled_bands_of(eig_skn, occ_skn, inputs.kpoints.point_kc, fermi_s)
    eig_skn, occ_skn = levels(state, bands)
    return band_structure(
        bands.kpoints, state.structure.reciprocal_cv / BOHR_ANGSTROM, eig_skn, occ_skn,
        state.occupations.fermi_level * HARTREE_EV, filled_s, bands.residual * HARTREE_EV, bands.converged,
    )


def _second(inputs: Inputs, state: State, bands: PointBands) -> BandsRecord:
    eig_skn, occ_skn = levels(state, bands)
    points = bands.kpoints
    return BandsRecord(
        points.point_kc, points.weight_k, eig_skn, occ_skn, generation_of(points), points.label_k,
        projection_record(inputs, bands.projections),
    )  # fmt: skip


def ionic_step(inputs: Inputs, state: State, observables: Observables, converged: bool) -> IonicStep:
    """What a state says about one arrangement of the ions, in the units of files."""
    structure, energies, report = state.structure, state.energies, observables.report
    steps = tuple(step_record(step) for step in state.history)
    values = observables.values.only(OF_IONIC_STEPS).in_files()
    if inputs.parameters.spins == 1:
        values["moment_a"] = None
    if inputs.fixed_density:
        steps = tuple(replace(step, density_residual=None) for step in steps)
    return IonicStep(
        lattice_cv=structure.lattice_cv * BOHR_ANGSTROM, scaled_ac=structure.scaled_ac,
        steps=steps, free_energy=energies.free * HARTREE_EV,
        energy_without_entropy=energies.internal * HARTREE_EV, energy_zero=energies.extrapolated * HARTREE_EV,
        converged=converged, components=components(energies),
        moment=state.moment, **values,
        absolute_energy=energies.absolute_free * HARTREE_EV,
        velocities_av=_velocities(inputs, report),
        seconds=observables.seconds, charge_xal=_charges(observables.projections, state),
        **({} if report is None else {name: getattr(report, name) for name in OF_REPORT}),
        lattice_kinetic=None if report is None else report.more.get("cell_kinetic"),
        remarks=() if report is None else report.words,
    )  # fmt: skip


OF_REPORT = (
    "temperature", "kinetic", "thermostat", "thermostat_kinetic", "conserved", "largest_force", "largest_stress",
    "tangent_force", "spring_force", "curvature", "direction_av",
    "lattice_velocity_cv",
)  # fmt: skip


def _velocities(inputs: Inputs, report: Report | None) -> np.ndarray | None:
    """Of atoms that move, as far as they are known yet; else those that POSCAR has."""
    if report is not None or inputs.motion is not None:
        return None if report is None else report.velocities_av
    poscar = inputs.poscar
    return poscar.velocities_av if poscar.velocities_cartesian else None


def step_record(step: ScfStep) -> StepRecord:
    """One step of self-consistency in eV."""
    energies = step.energies
    return StepRecord(
        step=step.step, algorithm=step.solver, precision=step.precision, free_energy=energies.free * HARTREE_EV,
        energy_without_entropy=energies.internal * HARTREE_EV, energy_zero=energies.extrapolated * HARTREE_EV,
        change=step.change * HARTREE_EV, band_energy_change=step.band_change * HARTREE_EV,
        applications=step.applications, residual=step.orbital_residual * HARTREE_EV, density_residual=step.residual,
        moment=step.moment, seconds=step.seconds, events=tuple(step.events),
    )  # fmt: skip


def components(energies: Energies) -> dict[str, float]:
    """The parts of the absolute free energy in eV; those that are subtracted have a minus sign."""
    parts = {"band": energies.band, "double_counting": -energies.double_counting, **energies.terms}
    parts |= {"entropy": energies.entropy, "atomic_reference": -energies.reference}
    return {name: value * HARTREE_EV for name, value in parts.items()}


def _charges(projections: Projections | None, state: State) -> np.ndarray | None:
    """Electrons in the spheres by l, and with spin the magnetisation; (x, a, l)."""
    if projections is None:
        return None
    return state.output.spin.separated(torch.as_tensor(by_l(projections.occupied_saL.numpy()))).numpy()


def _final(inputs: Inputs, state: State, observables: Observables, status: str) -> FinalRecord:
    projections = observables.projections
    eig_skn = state.eig_skn.cpu().numpy() * HARTREE_EV
    return FinalRecord(
        fermi_level=state.occupations.fermi_level * HARTREE_EV,
        separate_levels=tuple(level * HARTREE_EV for level in state.occupations.separate_levels), eig_skn=eig_skn,
        occ_skn=state.occupations.occ_skn.cpu().numpy(), status=status,
        dos=_dos(inputs, eig_skn, projections), values=observables.values.only(NOTHING.found),
        projections=projection_record(inputs, projections),
    )  # fmt: skip


def projection_record(inputs: Inputs, projections: Projections | None) -> ProjectionRecord | None:
    """Weights in the columns that LORBIT asks for; None without, and on ranks that do not have them."""
    if projections is None or projections.weight_sknaL is None:
        return None
    lorbit, phase_sknaL = inputs.setting("LORBIT"), projections.phase_sknaL
    return ProjectionRecord(
        columns(lorbit, kinds_of_l(inputs.data)), _in_columns(inputs, projections.weight_sknaL),  # type: ignore[arg-type]
        np.array([projections.radius[symbol] for symbol in inputs.structure.symbols]) * BOHR_ANGSTROM,
        None if phase_sknaL is None else phase_sknaL.numpy()[..., : kinds_of_l(inputs.data) ** 2],
    )  # fmt: skip


def _in_columns(inputs: Inputs, value_sknaL: torch.Tensor) -> np.ndarray:
    kept_sknaL = value_sknaL.numpy()[..., : kinds_of_l(inputs.data) ** 2]
    return by_l(kept_sknaL) if inputs.setting("LORBIT") in BY_L else kept_sknaL


def _dos(inputs: Inputs, eig_skn: np.ndarray, projections: Projections | None) -> DensityOfStates:
    """The density of states in eV, by the method of the occupations (`dos_counting`), and its parts on atoms.

    Operations that exchange the spins make one channel at a point of the mesh from the other channel at another one.
    """
    width, method = inputs.parameters.width * HARTREE_EV, dos_counting(inputs)
    points, lowest, highest = (inputs.setting(tag) for tag in ("NEDOS", "EMIN", "EMAX"))
    energy_x = energy_grid(eig_skn, width, points, lowest, highest)  # type: ignore[arg-type]
    total_sx, integrated_sx = density_of_states(method, eig_skn, energy_x)
    if len(eig_skn) == 2 and inputs.kpoints.symmetry.spin_flip_o.any():
        total_sx, integrated_sx = ((x_sx + x_sx[::-1]) / 2 for x_sx in (total_sx, integrated_sx))
    if projections is None or projections.average_sknaL is None:
        return DensityOfStates(energy_x, total_sx, integrated_sx)
    average_sknaL = _in_columns(inputs, projections.average_sknaL)
    partial_sxaL = density_of_states(method, eig_skn, energy_x, average_sknaL)[0]
    if projections.crossed_sknaL is not None:
        crossed_sknaL = _in_columns(inputs, projections.crossed_sknaL)
        partial_sxaL += density_of_states(method, eig_skn, energy_x, crossed_sknaL)[0][::-1]
    return DensityOfStates(energy_x, total_sx, integrated_sx, partial_sxaL)


def dos_counting(inputs: Inputs) -> Counting:
    """How much of each state lies below an energy (eV), as the occupations of a run have it."""
    parameters, kpoints = inputs.parameters, inputs.kpoints
    smearing = make_smearing(parameters.ismear, parameters.fixed_occupations, kpoints.tetrahedra)
    return counting(smearing, parameters.width * HARTREE_EV, kpoints.weight_k)
