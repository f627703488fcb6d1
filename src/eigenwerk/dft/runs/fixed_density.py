"""The density of a run that keeps it (ICHARG = 11, 12): where it comes from, and the state that its bands make."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from eigenwerk.dft.after.band_structure import filled_bands_of
from eigenwerk.dft.after.fields.charge import charge_start
from eigenwerk.dft.after.fixed_potential import PointBands
from eigenwerk.dft.calculation import Calculation
from eigenwerk.dft.crystal.kpoints import KPoints
from eigenwerk.dft.crystal.symmetry import no_symmetry
from eigenwerk.dft.density.density import Density, electrons_of, moment_per_atom
from eigenwerk.dft.density.symmetrise import UNSYMMETRIC
from eigenwerk.dft.filling.fermi_level import common_level
from eigenwerk.dft.filling.occupations import Occupations, occupations, occupations_at
from eigenwerk.dft.inputs.restart import CHARGE_FILE
from eigenwerk.dft.runs.saving.checkpoint import density_of, matching_lengths, read_earlier
from eigenwerk.dft.scf.bands import density_of_bands
from eigenwerk.dft.scf.start.carried import Places, carried_density
from eigenwerk.dft.scf.start.earlier import require_same_crystal
from eigenwerk.dft.scf.state import Progress, ScfStep, State
from eigenwerk.dft.terms.energies import band_energy, harris_energies
from eigenwerk.errors import InputError
from eigenwerk.io.hdf5.hdf5_state import read_with_header
from eigenwerk.units import HARTREE_EV


@dataclass(frozen=True, eq=False)
class FixedDensity:
    """A density that is kept.

    name: where it is from, in words; fermi_s: Fermi level of each spin channel of the run that made it, hartree, None
    if nobody knows; filled_s: bands that were full in it, None for a metal or if nobody knows; forces_av, stress_vv: of
    that run, hartree and bohr, None if nobody knows; notes: on the way; common: Fermi level of both channels, None
    where none separates both.
    """

    density: Density
    name: str
    fermi_s: tuple[float, ...] | None = None
    filled_s: tuple[int, ...] | None = None
    forces_av: np.ndarray | None = None
    stress_vv: np.ndarray | None = None
    notes: tuple[str, ...] = ()
    common: float | None = None


def fixed_density(path: Path | None, calculation: Calculation) -> tuple[Calculation, FixedDensity]:
    """The density to be kept, and the calculation for it, without symmetries that the density does not have.

    path: the file that `inputs.restart.density_file` has found; None: superposed atoms.  Raises InputError if the file
    cannot be used, or if a mesh was made smaller by operations that the density does not have.
    """
    if not calculation.kpoints.weight_k.any():  # a list without weights: all count alike
        points = calculation.kpoints
        even_k = np.full(len(points.point_kc), 1.0 / len(points.point_kc))
        calculation = _at(calculation, replace(points, weight_k=even_k))
    if path is None:
        density = calculation.symmetrise(calculation.starting_density())
        return calculation, FixedDensity(density, "superposed atoms")
    found = _of_charge(path, calculation) if path.name == CHARGE_FILE else _of_state(path, calculation)
    if _is_symmetric(found.density, calculation):
        return calculation, found
    if not calculation.kpoints.has_crystal_symmetry:
        own = _at(calculation, calculation.kpoints.of_kept_operations())
        if _is_symmetric(found.density, own):
            used = f"{own.kpoints.symmetry.order} of {calculation.kpoints.symmetry.order}"
            note = f"this density has the operations of the mesh of k-points alone ({used}): they are used"
            return own, replace(found, notes=(*found.notes, note))
    if calculation.kpoints.samples_zone:
        raise InputError(
            f"{path}: this density does not have the symmetry by which the k-points of the mesh were reduced. Set "
            "MAGMOM as in the run that made it, or ISYM = 0."
        )
    note = "this density has less symmetry than the crystal with these MAGMOM: none is used"
    plain = replace(calculation.kpoints, symmetry=no_symmetry(calculation.structure))
    return _at(calculation, plain), replace(found, notes=(*found.notes, note))


def _at(calculation: Calculation, kpoints: KPoints) -> Calculation:
    """The same with other k-points."""
    return replace(calculation, kpoints=kpoints, made=None)


def _of_charge(path: Path, calculation: Calculation) -> FixedDensity:
    """That of a CHGCAR, which has no Fermi level."""
    start = charge_start(path, calculation, kept=True)
    return FixedDensity(start.density, str(path), notes=start.notes)


def _of_state(path: Path, calculation: Calculation) -> FixedDensity:
    """That from which the orbitals of a state were made, to which its Fermi level belongs."""
    earlier = read_earlier(path)
    changes = require_same_crystal(earlier, calculation.system)
    matching_lengths(path, earlier, calculation)
    tree = earlier.about
    places = Places(tree["structure"], changed=False)
    density = carried_density(density_of(tree["density"]), earlier.index_gc, places, calculation.atoms)
    notes = [f"the earlier run had not converged ({earlier.unfinished})"] if earlier.unfinished else []
    if changes:
        notes.append(f"the density was made with other settings: {'; '.join(changes)}")
    forces_av, stress_vv = _known_forces(path, len(tree["structure"]["symbols"]))
    kept = FixedDensity(density, str(path), None, None, forces_av, stress_vv, tuple(notes))
    bands = tree["bands"]
    fermi_s = tuple(float(level) for level in bands["fermi_level_s"]) if "fermi_level_s" in bands else None
    channels = len(bands["eig_skn"])
    if fermi_s is None:
        return kept
    fermi_s = fermi_s if len(fermi_s) == channels else fermi_s[:1] * channels
    filled_s = filled_bands_of(bands["eig_skn"], bands["occ_skn"], tree["kpoints"]["point_kc"], fermi_s)
    common = common_level(bands["eig_skn"], bands["occ_skn"], fermi_s)
    return replace(kept, fermi_s=fermi_s, filled_s=filled_s, common=common)


def _known_forces(path: Path, atoms: int) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Forces and stress that a run has left in its file, if they are of a converged density."""
    found = read_with_header(path, only=("results",))[1].get("results")
    if not isinstance(found, dict) or not found.get("forces_reliable"):
        return None, None
    wanted = {"forces_av": (atoms, 3), "stress_vv": (3, 3)}
    forces_av, stress_vv = (
        value if isinstance(value, np.ndarray) and value.shape == shape and value.dtype.kind == "f" else None
        for value, shape in ((found.get(name), shape) for name, shape in wanted.items())
    )
    return forces_av, stress_vv


def _is_symmetric(density: Density, calculation: Calculation) -> bool:
    return calculation.symmetrise.deviation(density) <= UNSYMMETRIC


def level_words(fixed: FixedDensity, calculation: Calculation) -> str:
    """Which Fermi level is given."""
    if calculation.kpoints.samples_zone:
        return "the Fermi level is that of this mesh"
    if fixed.fermi_s is None:
        return "the Fermi level is found from these k-points as if they sampled the zone: no other is known"
    return f"the Fermi level is that of the run that made {fixed.name}"


def fixed_state(calculation: Calculation, fixed: FixedDensity, found: PointBands, seconds: float) -> State:
    """The bands of a density that is kept as a state of one step, with their orbitals if they were kept.

    A mesh samples the zone and has a Fermi level of its own; a path or list has that of the run that made the density.
    Energies are those of Harris and Foulkes with these k-points, which mean something for a mesh only.
    """
    filled, settings = _filled(calculation, fixed, found), calculation.settings
    basis, density = calculation.basis, fixed.density
    filling_skn = basis.filling(filled.occ_skn)
    band = band_energy(found.eig_skn, filling_skn)
    energies = harris_energies(
        calculation.atoms, density, calculation.builder(density), band, filled.entropy_term,
        filled.zero_width_correction,
    )
    moment = density.spin.moment(electrons_of(density, calculation.atoms)) if density.spin.polarised else None
    step = ScfStep(
        step=1, energies=energies, change=energies.free, band_change=band, residual=0.0,
        orbital_residual=found.residual, moment=moment, applications=found.applications, seconds=seconds,
    )
    coeff_sknG, output = found.coeff_sknG, density
    if coeff_sknG is None:
        coeff_sknG = torch.zeros((len(found.eig_skn), 0, 0, 0), dtype=basis.form.dtype)
    else:
        with calculation.runtime.trace.span("density"):
            output = calculation.symmetrise(density_of_bands(calculation.atoms, coeff_sknG, filling_skn))
    progress = Progress(1, 0.0, energies.free, band, {}, {}, _no_memory)
    words = f"{band_words(found, settings.max_steps)}, in the density of {fixed.name}"
    return State(
        calculation.system, density, output, density, coeff_sknG, found.eig_skn, filled, energies, (step,),
        found.converged, words, progress,
    )


def _no_memory() -> None:
    return None


def _filled(calculation: Calculation, fixed: FixedDensity, found: PointBands) -> Occupations:
    settings, basis = calculation.settings, calculation.basis
    if calculation.kpoints.samples_zone or fixed.fermi_s is None:
        return occupations(
            found.eig_skn, basis.weight_k.cpu(), settings.electrons, settings.smearing, settings.width,
            basis.spin.degeneracy, settings.fixed_moment,
        )
    occ_skn = occupations_at(found.eig_skn, fixed.fermi_s, settings.smearing, settings.width)
    return Occupations(occ_skn, fixed.fermi_s, 0.0, 0.0, common_level=fixed.common)


def band_words(found: PointBands, limit: int) -> str:
    """How the bands of a list of points have ended; limit: NELM."""
    count, tolerance = len(found.kpoints.point_kc), found.tolerance * HARTREE_EV
    points = f"{count} k-point{'s' if count != 1 else ''}"
    if found.converged:
        return f"bands of {points} converged, residuals below {tolerance:.1g} eV"
    sweeps = f"{limit} sweep{'s' if limit != 1 else ''} (NELM)"
    return (
        f"BANDS NOT CONVERGED at {found.open_points} of {points} after {sweeps}: the largest residual is "
        f"{found.residual * HARTREE_EV:.1e} eV, wanted {tolerance:.1g} eV"
    )


def numbers_of_kept(kept: FixedDensity, calculation: Calculation, state: State) -> dict[str, Any]:
    """What the state of a kept density has: forces and stress on a mesh; on a path, sums over which mean nothing, those
    of the run that made the density."""
    moment_a = moment_per_atom(kept.density, calculation.atoms)
    if not calculation.kpoints.samples_zone:
        return {"moment_a": moment_a, "forces_av": kept.forces_av, "stress_vv": kept.stress_vv}
    found = calculation.derived.forces(state)
    stress_vv, pulay = calculation.derived.stress(state)
    return {
        "moment_a": moment_a, "forces_av": found.force_av.cpu().numpy(), "force_error": found.error,
        "correction_av": found.correction_av.cpu().numpy(), "stress_vv": stress_vv, "pulay": pulay,
    }  # fmt: skip
