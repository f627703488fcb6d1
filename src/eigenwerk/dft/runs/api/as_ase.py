"""Results in ASE's words and units: atoms with a calculator that holds what was found, bands along a path."""

from typing import TYPE_CHECKING, Any

import numpy as np

from eigenwerk.dft.after.band_structure import BandStructure
from eigenwerk.dft.runs.api.structures import SAME_MASS
from eigenwerk.io.vasp.output.record import IonicStep, RunRecord
from eigenwerk.units import EV_PER_ANGSTROM3_GPA

if TYPE_CHECKING:
    from ase import Atoms

VOIGT = ((0, 0), (1, 1), (2, 2), (1, 2), (0, 2), (0, 1))
"""xx yy zz yz xz xy."""


def found_in_ase(step: IonicStep) -> dict[str, Any]:
    """What an ionic step has, by ASE's names: eV, Å, Bohr magnetons, stress in eV/Å³, positive where the cell wants to
    shrink.  Nothing stands for what there is not."""
    stress_x = None
    if step.stress_vv is not None:
        stress_vv = -step.stress_vv / 10 / EV_PER_ANGSTROM3_GPA
        stress_x = np.array([(stress_vv[v, w] + stress_vv[w, v]) / 2 for v, w in VOIGT])
    found = {
        "energy": step.energy_zero, "free_energy": step.free_energy, "forces": step.forces_av, "stress": stress_x,
        "magmom": step.moment, "magmoms": step.moment_a,
    }  # fmt: skip
    return {name: value for name, value in found.items() if value is not None}


def levels_in_ase(record: RunRecord) -> dict[str, Any]:
    """Those of the last ionic step by ASE's names, eV."""
    return {
        "fermi_level": record.final.fermi_level, "eigenvalues": record.final.eig_skn,
        "occupations": record.final.occ_skn, "ibz_kpoints": record.kpoint_kc, "kpoint_weights": record.weight_k,
    }  # fmt: skip


def atoms_of(record: RunRecord, step: IonicStep) -> "Atoms":
    """Atoms of an ionic step with masses, velocities and what may move, and where the electrons have converged a
    calculator that holds what was found; raises ModuleNotFoundError without ASE."""
    from ase import Atoms, units
    from ase.calculators.singlepoint import SinglePointDFTCalculator, SinglePointKPoint
    from ase.constraints import FixAtoms, FixScaled

    atoms = Atoms(record.symbols, cell=step.lattice_cv, scaled_positions=step.scaled_ac, pbc=True)
    mass_a = np.repeat([one.mass for one in record.species], [one.count for one in record.species])
    if not np.allclose(mass_a, atoms.get_masses(), rtol=SAME_MASS):
        atoms.set_masses(mass_a)
    if step.velocities_av is not None:
        atoms.set_velocities(step.velocities_av / units.fs)
    if record.selective_ac is not None:
        fixed_ac = ~record.selective_ac
        some = [FixScaled(a, fixed_c) for a, fixed_c in enumerate(fixed_ac) if fixed_c.any() and not fixed_c.all()]
        whole_x = np.flatnonzero(fixed_ac.all(axis=1))
        atoms.set_constraint([*([FixAtoms(whole_x)] if len(whole_x) else []), *some])
    if step.converged:
        final, known = record.final, {} if step is not record.last else {"efermi": record.final.fermi_level}
        atoms.calc = SinglePointDFTCalculator(atoms, **known, **found_in_ase(step))
        atoms.calc.name = "eigenwerk"
        if step is record.last:
            atoms.calc.ibz_kpts = record.kpoint_kc
            atoms.calc.kpts = [
                SinglePointKPoint(weight, s, k, final.eig_skn[s, k], final.occ_skn[s, k])
                for s in range(len(final.eig_skn)) for k, weight in enumerate(record.weight_k)
            ]  # fmt: skip
    return atoms


def bands_in_ase(bands: BandStructure, lattice_cv: np.ndarray) -> Any:
    """ASE's `BandStructure`, whose zero is that of the pictures; raises ModuleNotFoundError without ASE."""
    from ase.cell import Cell
    from ase.dft.kpoints import BandPath
    from ase.spectrum.band_structure import BandStructure as Curves

    label_k = [_ase_label(label) for label in bands.label_k] or [""] * len(bands.point_kc)
    line_k = np.zeros(len(label_k), dtype=int) if bands.line_k is None else bands.line_k
    words, before = "", None
    for k in (k for k, label in enumerate(label_k) if label):
        jump = before is not None and line_k[k] != line_k[before] and label_k[k] != label_k[before]
        if before is None or label_k[k] != label_k[before]:
            words += f"{',' if jump else ''}{label_k[k]}"
        before = k
    known = {label: point_c for label, point_c in zip(label_k, bands.point_kc, strict=True) if label}
    path = BandPath(Cell(lattice_cv), kpts=bands.point_kc, special_points=known, path=words)
    return Curves(path, bands.eig_skn, reference=bands.zero)


def _ase_label(label: str) -> str:
    """G for GAMMA, X1 for X_1: a capital letter and digits."""
    name, _, index = label.lstrip("\\").partition("_")
    return (name[:1].upper() if name.isalpha() else name) + index.strip("{}")
