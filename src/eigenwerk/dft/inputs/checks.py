"""What deserves a word before a calculation starts: atoms, vacuum, smearing, and how atoms are to move."""

from dataclasses import replace
from math import sqrt

import numpy as np

from eigenwerk.dft.crystal.connectivity import contact_axes
from eigenwerk.dft.crystal.kpoints import NO_SHIFT, KPoints, mesh_from_spacing, mesh_kpoints
from eigenwerk.dft.crystal.listed_mesh import as_whole_mesh
from eigenwerk.dft.crystal.stars import stars_of, under
from eigenwerk.dft.crystal.structure import Structure, vacuum
from eigenwerk.dft.crystal.tetrahedra import CORRECTED
from eigenwerk.dft.inputs.steps.electrons import NEUTRAL, check_pairs
from eigenwerk.dft.inputs.steps.motion import OPTIMISERS, MotionRequest, idle_tags
from eigenwerk.dft.inputs.texts import InputTexts
from eigenwerk.dft.settings.dataset import DataSet
from eigenwerk.dft.settings.findings import Findings
from eigenwerk.dft.settings.mixing import APART
from eigenwerk.dft.settings.motion_kind import DYNAMICS, RELAXATION, kind_of_motion, outside
from eigenwerk.dft.settings.parameters import SHARP
from eigenwerk.dft.settings.tags_in_force import tell_idle, whole
from eigenwerk.io.vasp.input.incar import Incar
from eigenwerk.io.vasp.input.poscar import Poscar, overlap_problems, overlapping_atoms
from eigenwerk.io.vasp.problem import Problem
from eigenwerk.io.vasp.tags.ions import BATHS
from eigenwerk.lattice_reduction import heights
from eigenwerk.motion.dynamics.dynamics_settings import DynamicsSettings
from eigenwerk.motion.dynamics.vasp_tags import NO_BATH
from eigenwerk.motion.relaxation.relaxation_settings import RelaxationSettings
from eigenwerk.units import BOHR_ANGSTROM

SPHERE_OVERLAP = 0.3
"""Augmentation spheres may share this part of the sum of their radii."""

VACUUM = 6.0
"""An empty layer of this thickness (Å) parts the images of a slab, chain or molecule."""

LARGEST_ATOMS = 2000
"""Pairs are not searched in larger structures."""

NARROWEST = 1e-6
"""Smallest SIGMA (eV); what is narrower is none."""

LEAST_EDIFF, USUAL_EDIFF = 1e-12, 1e-8
"""eV: of smaller changes of an energy only rounding is left; a tight one."""

SHORT_CELL, DENSE = 8.0, 0.3
"""Å between planes of lattice points below which one k-point does not do; 1/Å, KSPACING of a mesh that mostly does."""

SMALL_SHIFT = 1e-4
"""Atoms that symmetry moves by less (Å) are not worth a word."""

PROTON_PERIOD, LEAST_STEPS = 9.0, 6
"""A stretched bond of a hydrogen atom swings in so many fs (3700 cm⁻¹), and wants at least so many steps for it."""

VACUUM_MODES = {3: "the vacuum closes, or opens, with the cell", 4: "the vacuum shrinks where the slab grows",
                5: "the vacuum shrinks where the slab grows", 6: "the vacuum closes, or opens, with the cell",
                7: "the vacuum scales with the slab", 8: "the vacuum scales with the slab"}  # fmt: skip
"""What becomes of a vacuum, by ISIF."""


def check_structure(poscar: Poscar, datasets: dict[str, DataSet], findings: Findings) -> None:
    """Overlapping atoms (errors) and augmentation spheres (warnings)."""
    overlaps = overlap_problems(poscar)
    findings.add(*overlaps)
    if not overlaps and len(poscar.symbols) <= LARGEST_ATOMS:
        _check_spheres(poscar, datasets, findings)


def _check_spheres(poscar: Poscar, datasets: dict[str, DataSet], findings: Findings) -> None:
    """One warning for the pair of spheres that overlaps most.

    The radius of a sphere is the largest matching radius of its data set; spheres that overlap by the part x are at a
    distance of (1 - x) times the sum of the radii.
    """
    radius = {symbol: _sphere_radius(data) for symbol, data in datasets.items()}
    if not radius:
        return
    pairs = overlapping_atoms(poscar, 2.0 * (1.0 - SPHERE_OVERLAP) * max(radius.values()))
    both = [
        (1.0 - distance / reach, i, j, distance)
        for i, j, distance in pairs
        if (reach := radius.get(poscar.symbols[i], 0.0) + radius.get(poscar.symbols[j], 0.0)) > 0.0
    ]
    overlap, i, j, distance = max(both, default=(0.0, 0, 0, 0.0))
    if overlap > SPHERE_OVERLAP:
        one, other = poscar.symbols[i], poscar.symbols[j]
        findings.warn(
            poscar.file,
            f"atoms {i + 1} ({one}) and {j + 1} ({other}) are {distance:.3f} Å apart; their augmentation spheres "
            f"({radius[one]:.2f} and {radius[other]:.2f} Å) overlap by {100 * overlap:.0f} %",
            "Check the structure; energies lose accuracy beyond 30 %.",
        )


def _sphere_radius(data: DataSet) -> float:
    """Largest matching radius of a data set in Å, 0 if it names none."""
    return max((state.rc or 0.0 for state in data.header.states), default=0.0) * BOHR_ANGSTROM


def check_vacuum(
    structure: Structure, kpoints: KPoints, incar: Incar, electrons: float | None, findings: Findings
) -> None:
    """Hints for slabs and molecules."""
    empty = vacuum(structure) > VACUUM / BOHR_ANGSTROM
    if kpoints.mesh is not None:
        idle = [str(c + 1) for c in range(3) if empty[c] and kpoints.mesh[c] > 1]
        if idle:
            axes = f"{'axis' if len(idle) == 1 else 'axes'} {', '.join(idle)}"
            message = f"the {kpoints.source} has several points along {axes}, across vacuum"
            findings.note("KPOINTS", message, "One point is enough there.")
    molecule = bool(vacuum(structure).min() >= APART / BOHR_ANGSTROM)
    if molecule and incar.get("ISMEAR") not in SHARP and _wide(incar):
        message = f"this is a molecule in a box, and SIGMA = {incar.get('SIGMA')} eV may fill its levels in parts"
        findings.warn(incar.file, message, "Set ISMEAR = 0 and SIGMA = 0.01.")
    if molecule and electrons is not None:
        check_pairs(incar, electrons, findings)


NARROW = 3.0
"""Å without atoms along an axis, more than atoms of one thing are apart."""


def check_charge(structure: Structure, charge: float, incar: Incar, findings: Findings) -> None:
    """A word about what a charge is not defined with, and EPSILON without a charge."""
    if abs(charge) <= NEUTRAL:
        if "EPSILON" in incar.values:
            message = "it acts only in a charged cell, on the corrections that are reported"
            findings.add(incar.problem("EPSILON", message, severity="note"))
        return
    gaps_c = vacuum(structure) * BOHR_ANGSTROM
    empty = int((gaps_c >= APART).sum())
    if 0 < empty < 3:
        message = (
            f"a charged {'slab' if empty == 1 else 'chain'}: the background fills the vacuum, and energy, levels and "
            "work function change with its width without limit; no correction is given"
        )
        remedy = "Keep the cell neutral, or put a counter charge into it."
        narrow = [f"{gap:.1f} Å along axis {c + 1}" for c, gap in enumerate(gaps_c) if NARROW < gap < APART]
        if len(narrow) == 3 - empty:
            remedy += f" If this is a molecule, its box is too small: {', '.join(narrow)} of {APART:g}."
        findings.add(incar.problem("NELECT", message, remedy, severity="warning"))


def check_mesh(kpoints: KPoints, source: str, findings: Findings) -> None:
    """A warning where a mesh has fewer operations than the crystal; source: the file that asks for it."""
    if kpoints.has_crystal_symmetry:
        return
    symmetry = kpoints.symmetry
    whole = under(replace(kpoints, tetrahedra=None), symmetry).full_count
    regular = as_whole_mesh(kpoints) is not kpoints
    uneven = "which lie or count unevenly, so that energies converge more slowly with their number"
    what = "a regular mesh" if regular else uneven
    message = (
        f"the {kpoints.source} has {kpoints.kept_operations} of the {symmetry.order} symmetry operations of the "
        "crystal. Density, forces and stress are averaged over all of them: what is zero by symmetry is zero, and the "
        f"points stand for {whole}, {what}. A structure with fewer operations (an atom displaced, a strain) gets other "
        "points, and its energy and forces do not join on to these smoothly"
    )
    remedy = "Divide equivalent axes equally, with a mesh that is Gamma-centred."
    centred = kpoints.mesh and mesh_kpoints(kpoints.mesh, NO_SHIFT, True, symmetry)
    if kpoints.mesh and centred and centred.has_crystal_symmetry:
        mesh = " ".join(map(str, kpoints.mesh))
        gamma = "KGAMMA = .TRUE." if source == "INCAR" else f"Gamma in line 3 of KPOINTS, without a shift ({mesh})"
        remedy = f"Set {gamma}: that mesh has all."
        if kpoints.shift == NO_SHIFT:
            remedy = remedy.replace("has all.", "has all, as Monkhorst-Pack meshes of odd numbers have.")
    findings.warn(source, message, remedy)


def check_points_of_vibrations(kpoints: KPoints, source: str, findings: Findings) -> None:
    """What k-points become where atoms are displaced; source: the file that asks for them."""
    if kpoints.tetrahedra is not None and kpoints.kept_o is None:
        findings.error(
            source, "displaced atoms leave fewer operations, and the tetrahedra of this list would have to be turned "
            "by the lost ones, without anybody knowing where in the zone they lie", "Give a mesh, or set ISMEAR = 0.",
        )  # fmt: skip
    if kpoints.has_crystal_symmetry or kpoints.irreducible_of_full is None:
        return
    points = sum(len(star.point_xc) for star in stars_of(kpoints.point_kc, kpoints.symmetry))
    message = f"displaced atoms take all {points} points that the operations of the crystal make of the mesh of "
    message += f"{kpoints.full_count}, as far as they are different then: nothing else is symmetric at rest"
    findings.note(source, message, "A mesh with all operations needs no others.")


def check_single_point(structure: Structure, kpoints: KPoints, source: str, findings: Findings) -> None:
    """A warning where Gamma alone stands for the zone of a crystal with a short cell; source: who asks for it.

    Directions along which atoms are not in contact from cell to cell (vacuum, also a narrow one) need no other point,
    and none is missed in a cell that is long by itself.
    """
    if kpoints.full_count != 1 or kpoints.point_kc.any():
        return
    periodic = vacuum(structure) < APART / BOHR_ANGSTROM
    height_c = BOHR_ANGSTROM * heights(structure.lattice_cv)
    if not (periodic & (height_c < SHORT_CELL)).any():
        return
    if len(structure.symbols) <= LARGEST_ATOMS:
        periodic &= contact_axes(structure)
    short = periodic & (height_c < SHORT_CELL)
    if not short.any():
        return
    mesh_c = np.where(periodic, mesh_from_spacing(structure, DENSE), 1)
    axes = ", ".join(f"{height_c[c]:.1f} Å along axis {c + 1}" for c in np.flatnonzero(short))
    findings.warn(
        source, f"Gamma is the only k-point of a crystal whose cell is short ({axes}): energies may be off by eV for "
        "each atom, and forces and cells with them",
        f"Take a Gamma-centred mesh of {' x '.join(map(str, mesh_c))} points (KSPACING = {DENSE:g}) or, of a molecule, "
        "a larger box.",
    )  # fmt: skip


def _wide(incar: Incar) -> bool:
    width = incar.get("SIGMA")
    return isinstance(width, float) and width > 0.1


def check_smearing(incar: Incar, findings: Findings) -> None:
    """Smearing that nobody asked for, and a width of zero."""
    if "ISMEAR" not in incar.raw:
        message = "ISMEAR = 1 (default) is made for metals"
        findings.note(incar.file, message, "For an insulator set ISMEAR = 0 and SIGMA = 0.05.")
    width = incar.get("SIGMA")
    if isinstance(width, float) and width < NARROWEST and incar.get("ISMEAR") not in SHARP:
        findings.add(incar.problem("SIGMA", "the smearing must have a width", "Set SIGMA = 0.01."))
    if incar.get("ISMEAR") in CORRECTED and incar.get("IBRION") not in (None, -1):
        message = "with Blöchl's correction the forces of a metal are not derivatives of its energy"
        remedy = "To relax a metal set ISMEAR = 1 with SIGMA = 0.2, or ISMEAR = -4; insulators are right."
        findings.add(incar.problem("ISMEAR", message, remedy, severity="warning"))


def check_tolerance(incar: Incar, findings: Findings) -> None:
    """An EDIFF that rounding cannot reach."""
    tolerance = incar.values.get("EDIFF")
    if isinstance(tolerance, float) and not incar.broken("EDIFF") and 0 < abs(tolerance) < LEAST_EDIFF:
        message = "below the rounding of energies in double precision: no run comes to its end by it"
        findings.add(incar.problem("EDIFF", message, f"Set EDIFF = {USUAL_EDIFF:g}.", severity="warning"))


def check_idealised(given: Structure, idealised: Structure, findings: Findings) -> None:
    """A note when making the structure exactly symmetric has moved atoms or lattice vectors visibly."""
    atoms = np.linalg.norm((idealised.scaled_ac - given.scaled_ac) @ given.lattice_cv, axis=1).max()
    vectors = np.linalg.norm(idealised.lattice_cv - given.lattice_cv, axis=1).max()
    shift = max(atoms, vectors) * BOHR_ANGSTROM
    if shift > SMALL_SHIFT:
        message = f"atoms or lattice vectors are moved by up to {shift:.1e} Å to be exactly symmetric"
        findings.note("POSCAR", message, "A smaller SYMPREC finds less symmetry and moves less.")


def check_motion(
    incar: Incar, structure: Structure | None, motion: MotionRequest | None, findings: Findings
) -> None:  # fmt: skip
    """Warnings about settings that do what they say, and hardly what is meant."""
    kind = kind_of_motion(incar)
    if kind is None:
        _tell_missing_steps(incar, findings)
        return
    tell_idle(incar, idle_tags(incar, kind), findings)
    if kind == RELAXATION and outside(incar) and whole(incar, "IOPT") in OPTIMISERS:
        words = f"with POTIM = 0 in place of IBRION = 3; a {OPTIMISERS[whole(incar, 'IOPT')]} relaxation serves"
        findings.add(incar.problem("IOPT", words, severity="note"))
    if motion is None:
        return
    if isinstance(motion.settings, DynamicsSettings):
        _check_bath(incar, findings)
        _check_step(incar, motion, findings)
    if isinstance(motion.settings, RelaxationSettings) and structure is not None:
        _check_open_vacuum(incar, structure, motion.settings, findings)


def _check_bath(incar: Incar, findings: Findings) -> None:
    mdalgo = incar.get("MDALGO")
    tag, usual = BATHS.get(mdalgo if isinstance(mdalgo, int) else 0, ("", ""))
    if tag and tag not in incar.values:
        message = f"without {tag} there is no bath: the energy is constant, as in VASP"
        findings.add(incar.problem("MDALGO", message, f"Set {usual}, or MDALGO = 0 if that is meant.", "warning"))
    elif mdalgo == 2 and incar.values["SMASS"] == NO_BATH:
        findings.add(incar.problem("SMASS", "there is no thermostat: the energy is constant", severity="note"))


def _tell_missing_steps(incar: Incar, findings: Findings) -> None:
    """IBRION asks for a motion and NSW for none."""
    wanted, steps = incar.values.get("IBRION", -1), whole(incar, "NSW")
    if steps > 0 or incar.broken("NSW"):
        return
    if wanted in (5, 6, 44):
        what, usual = ("the saddle point is", 100) if wanted == 44 else ("vibrations are", 1)
        words = f"nothing moves with NSW = {steps}: {what} not computed"
        findings.add(incar.problem("IBRION", words, f"Set NSW = {usual}, or IBRION = -1.", severity="warning"))
    elif "NSW" not in incar.values and wanted in (0, 1, 2, 3):
        findings.add(incar.problem("IBRION", "nothing moves, because NSW is not given", severity="note"))


def _check_step(incar: Incar, motion: MotionRequest, findings: Findings) -> None:
    """Of the lightest atom that may move."""
    assert isinstance(motion.settings, DynamicsSettings)
    moves_a = np.ones(len(motion.masses_a), bool) if motion.free_ac is None else motion.free_ac.any(axis=1)
    if not moves_a.any():
        return
    mass = float(motion.masses_a[moves_a].min())
    period = PROTON_PERIOD * sqrt(mass / 1.008)
    if motion.settings.time_step > period / LEAST_STEPS:
        message = f"long for atoms of {mass:g} u: their bonds may swing in {period:.2g} fs"
        remedy = f"Set POTIM = {period / 15:.1g} or so, and look at the conserved quantity."
        findings.add(incar.problem("POTIM", message, remedy, severity="warning"))


def _check_open_vacuum(incar: Incar, structure: Structure, settings: RelaxationSettings, findings: Findings) -> None:
    """A slab or molecule in a cell that relaxes."""
    words = VACUUM_MODES.get(settings.isif)
    empty_c = vacuum(structure) > VACUUM / BOHR_ANGSTROM
    open_c = empty_c & np.array(settings.lattice_free)
    if words is None or not open_c.any():
        return
    axes = ", ".join(str(c + 1) for c in np.flatnonzero(open_c))
    free = " ".join(".FALSE." if empty else ".TRUE." for empty in empty_c)
    remedy = f"Set LATTICE_CONSTRAINTS = {free} with ISIF = 3 to keep it, or ISIF = 2."
    message = f"there is vacuum along axis {axes}, and {words}"
    findings.add(incar.problem("ISIF", message, remedy, severity="warning"))


CONSTRAINTS = "ICONST"

MONITORED = "7"
"""Last word of a line whose coordinate is only written out."""

HELD = "0"
"""Last word of a line whose coordinate is held; others are biased."""


def check_constraints(incar: Incar, texts: InputTexts, findings: Findings) -> None:
    """ICONST: bonds, angles and other coordinates that VASP holds, biases or monitors in dynamics.

    An error for those that are to be held or biased: atoms would move otherwise than meant.  A note for others.
    """
    if CONSTRAINTS not in texts or texts.image:  # what images have is said of their path
        return
    dynamics = kind_of_motion(incar) == DYNAMICS
    if CONSTRAINTS in texts.problem:
        if dynamics:
            with findings.collecting(CONSTRAINTS):
                texts.raise_problem(CONSTRAINTS)
        return
    lines = _constraints(texts.of(CONSTRAINTS))
    asked = [(line, words) for line, words in lines if words[-1] != MONITORED]
    if dynamics and asked:
        line, words = asked[0]
        more = f" (and {len(asked) - 1} more)" if len(asked) > 1 else ""
        what = "constraints" if words[-1] == HELD else "biased coordinates"
        remedy = "Remove the file, or hold atoms by selective dynamics in POSCAR."
        message = f"{' '.join(words)}{more}: {what} in molecular dynamics are not available"
        findings.add(Problem("error", CONSTRAINTS, line, message, remedy=remedy))
    elif lines:
        why = "coordinates are not monitored" if dynamics else "it acts only in molecular dynamics (IBRION = 0)"
        findings.note(CONSTRAINTS, f"not used: {why}")


def _constraints(text: str) -> list[tuple[int, list[str]]]:
    """Line numbers and words of what is no comment."""
    split = ((number, line.replace("!", "#").split("#")[0].split()) for number, line in enumerate(text.splitlines(), 1))
    return [(number, words) for number, words in split if words]
