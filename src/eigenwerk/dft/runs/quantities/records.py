"""From a State to what the output files hold: eV, Angstrom and Bohr magnetons in a `RunRecord`.

This is the one place of the engine where results leave its own units.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import numpy as np

from eigenwerk import __version__
from eigenwerk.dft.after.analyses.table import NOTHING
from eigenwerk.dft.after.band_gap import band_gap
from eigenwerk.dft.after.band_structure import BandStructure, band_structure, filled_bands_of
from eigenwerk.dft.after.fixed_potential import PointBands
from eigenwerk.dft.after.levels import (
    BANDS,
    GAP,
    SPHERES,
    SphereCharges,
    charges_of,
    dos_of,
    fermi_levels,
    levels,
    projection_record,
)
from eigenwerk.dft.after.projections import Projections
from eigenwerk.dft.calculation import GroundState
from eigenwerk.dft.inputs.inputs import Inputs
from eigenwerk.dft.runs.fixed_density import FixedDensity
from eigenwerk.dft.runs.quantities.given import generation_of, incar_tags, species_of, tags_in_force, tetrahedra_of
from eigenwerk.dft.scf.state import ScfStep, State
from eigenwerk.dft.settings.projection import kinds_of_l
from eigenwerk.dft.terms.energies import Energies
from eigenwerk.io.paw.dataset import PawDataset
from eigenwerk.io.quantity import Values, numbers_of
from eigenwerk.io.run_stamp import RunStamp
from eigenwerk.io.vasp.output.record import (
    BandsRecord,
    FinalRecord,
    IonicStep,
    ProjectionRecord,
    RunRecord,
    StepRecord,
)
from eigenwerk.io.vasp.volumetric import Volumetric
from eigenwerk.motion.mover import Report
from eigenwerk.units import BOHR_ANGSTROM, HARTREE_EV


@dataclass(frozen=True)
class Observables:
    """What a finished state has and one on the way does not.

    ground: numbers of the ground state by the names that `IonicStep` has for them, hartree and bohr; values: of
    analyses (`after/analyses`); fields: densities and potentials by the names of their files, in the units of files;
    weightless, second: bands at the points of `BandRequest`; kept: the density that was kept, if one was, and main: its
    bands; projections: of the orbitals on atoms; report: of whoever moves the atoms; relaxed: that a relaxation has
    found what it was for.
    """

    ground: Mapping[str, Any] = field(default_factory=dict)
    values: Values = NOTHING
    fields: Mapping[str, Volumetric] = field(default_factory=dict)
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
        return Observables(vars(ground), projections=ground.projections, report=report)

    @property
    def knows_forces(self) -> bool:
        """Whether the ionic step is over."""
        return self.ground.get("forces_av") is not None


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
    last = ionic_step(inputs, state, observables, converged)
    bands = observables.main if observables.second is None and inputs.kpoints.line_k is not None else observables.second
    found = Values({
        GAP: band_gap(final.eig_skn, final.occ_skn, kpoint_kc, fermi_levels(state)),
        SPHERES: SphereCharges.of(last.charge_xal, final.projections, state),
        BANDS: _structure_of_bands(inputs, state, bands, observables.kept),
    })  # fmt: skip
    return RunRecord(
        version=__version__, start=start, title=poscar.title, incar=incar_tags(inputs),
        parameters=tags_in_force(inputs), kpoint_kc=kpoint_kc, weight_k=weight_k,
        symbols=poscar.symbols, species=tuple(species_of(inputs, datasets)),
        ionic_steps=(*earlier, last), final=replace(final, values=found | observables.values),
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


def _second(inputs: Inputs, state: State, bands: PointBands) -> BandsRecord:
    eig_skn, occ_skn = levels(state, bands)
    points = bands.kpoints
    return BandsRecord(
        points.point_kc, points.weight_k, eig_skn, occ_skn, generation_of(points), points.label_k,
        projection_record(inputs, bands.projections),
    )  # fmt: skip


def _structure_of_bands(
    inputs: Inputs, state: State, bands: PointBands | None, kept: FixedDensity | None
) -> BandStructure | None:
    """What the bands of a list of points say, at the levels of a state or of a density that was kept; None without."""
    if bands is None:
        return None
    fermi_s = fermi_levels(state)
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


def ionic_step(inputs: Inputs, state: State, observables: Observables, converged: bool) -> IonicStep:
    """What a state says about one arrangement of the ions, in the units of files."""
    structure, energies, report = state.structure, state.energies, observables.report
    steps = tuple(step_record(step) for step in state.history)
    if inputs.fixed_density:
        steps = tuple(replace(step, density_residual=None) for step in steps)
    found: dict[str, Any] = {
        **({} if report is None else vars(report) | {"lattice_kinetic": report.more.get("cell_kinetic")}),
        **observables.ground,
        "lattice_cv": structure.lattice_cv, "scaled_ac": structure.scaled_ac, "free_energy": energies.free,
        "energy_without_entropy": energies.internal, "energy_zero": energies.extrapolated,
        "absolute_energy": energies.absolute_free, "moment": state.moment,
        "velocities_av": _velocities(inputs, report), "charge_xal": charges_of(observables.projections, state),
    }  # fmt: skip
    if inputs.parameters.spins == 1:
        found["moment_a"] = None
    return IonicStep(
        steps=steps, converged=converged, components=components(energies),
        remarks=() if report is None else report.words,
        **{one.name: one.in_files(found.get(one.name)) for one in numbers_of(IonicStep)},
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


def _final(inputs: Inputs, state: State, observables: Observables, status: str) -> FinalRecord:
    projections = observables.projections
    eig_skn = state.eig_skn.cpu().numpy() * HARTREE_EV
    return FinalRecord(
        fermi_level=state.occupations.fermi_level * HARTREE_EV,
        separate_levels=tuple(level * HARTREE_EV for level in state.occupations.separate_levels), eig_skn=eig_skn,
        occ_skn=state.occupations.occ_skn.cpu().numpy(), status=status,
        dos=dos_of(inputs, eig_skn, projections),
        projections=projection_record(inputs, projections),
    )  # fmt: skip


