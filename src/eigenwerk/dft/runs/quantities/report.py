"""The result of a run for people and programs: eV, Angstrom, Bohr magnetons (no torch here).

`RunResult` is what `eigenwerk.dft.runs.run.run_folder` returns, what the command line shows and, by `as_dict`, what
`--json` prints.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from eigenwerk.dft.after.band_gap import BandGap
from eigenwerk.dft.after.band_structure import BandStructure
from eigenwerk.dft.crystal.tetrahedra import CORRECTED
from eigenwerk.dft.inputs.steps.motion import RELAXATION
from eigenwerk.io.run_stamp import RunStamp
from eigenwerk.io.vasp.output.potentials import ChargedCell, VacuumLevels
from eigenwerk.io.vasp.output.record import IonicStep, ProjectionRecord, StepRecord
from eigenwerk.io.vasp.output.weights.projections import L_COLUMNS

if TYPE_CHECKING:
    from eigenwerk.dft.calculation import GroundState

JSON_FORMAT = "eigenwerk-run"
JSON_VERSION = 1
"""Version of the document that `RunResult.as_dict` returns; raised whenever its fields change meaning."""


class RunInterrupted(KeyboardInterrupt):
    """A run was stopped by KeyboardInterrupt; `result` describes the last finished step, None if there was none.

    What was written is marked as interrupted, and a run with ISTART = 1 goes on from it.
    """

    def __init__(self, result: Any) -> None:
        super().__init__("interrupted before the first step was finished" if result is None else result.status)
        self.result = result


@dataclass(frozen=True, eq=False)
class SphereCharges:
    """Electrons in the spheres about the atoms, by angular momentum.

    radius_a: of the spheres, Angstrom; electrons_al: (a, l), l = s, p, d, f; moment_al: Bohr magnetons, None without
    spin; between: electrons that are in none of them (negative if spheres that overlap count too many).
    """

    radius_a: np.ndarray
    electrons_al: np.ndarray
    moment_al: np.ndarray | None
    between: float


@dataclass(frozen=True, eq=False)
class IonicHistory:
    """How atoms have moved.

    kind: relaxation, dynamics or vibrations; status: how it ended, one sentence; finished: whether it has reached what
    it was for; steps: all its ionic steps; more: results of its own kind, ready for JSON;
    text: the same for people.
    """

    kind: str
    status: str
    finished: bool
    steps: tuple[IonicStep, ...]
    more: Mapping[str, Any] = field(default_factory=dict)
    text: str = ""

    def lowest(self, name: str) -> int | None:
        """Number, from 1, of the self-consistent ionic step whose value of that name is lowest; the last of equals."""
        values = [(getattr(step, name), -number) for number, step in enumerate(self.steps, start=1) if step.converged]
        found = min((pair for pair in values if pair[0] is not None), default=None)
        return None if found is None else -found[1]

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        best = {} if self.kind != RELAXATION else {
            "lowest_energy_step": self.lowest("free_energy"), "smallest_force_step": self.lowest("largest_force"),
        }  # fmt: skip
        return {
            "kind": self.kind, "status": self.status, "finished": self.finished, **self.more, **best,
            "steps": [_ionic(number, step) for number, step in enumerate(self.steps, start=1)],
        }  # fmt: skip


@dataclass(frozen=True, eq=False)
class RunResult:
    """One finished, unconverged or interrupted calculation.

    status: how it ended, one sentence; interrupted: stopped by a signal.  free_energy, energy_zero (extrapolated to
    zero smearing) and energy_without_entropy: eV, relative to the atoms of the data sets; absolute_energy: the free
    energy with all electrons of frozen cores, eV; components: its parts.  fermi_level: eV, between filled and empty
    states of both spins; separate_levels: those of each where NUPDOWN leaves none between, of which it is the higher
    one, else empty.  eig_skn: eV; occ_skn: 0 to 1.  forces_av: (a, 3) eV/Angstrom, None if not computed; they mean
    little unless `converged`. force_error: estimate of their largest error from the density not being self-consistent.
    stress_vv: (3, 3) GPa, positive where the cell wants to shrink, None if not asked for; pulay_pressure: what waves
    beyond the cutoff would add to the pressure, with a minus sign, GPa, an estimate.
    moment: total, Bohr magnetons, moment_a inside the augmentation spheres; None without
    spin. steps: the way to self-consistency. notes: where the start came from, files that could not be written;
    warnings: about the result. advice: what to try next if not converged. seconds: wall time; threads: of the
    processor; fft: whose FFTs made orbitals (FFTW or PyTorch); trace: `Trace.as_dict()`. files: by name, in
    folder; stamp: the mark that they have in common. ground_state: the engine's own quantities in hartree and bohr,
    None after an interruption or with a fixed density.  fixed_density: the density was kept, so that energies mean
    something for a mesh at most, and forces and stress of a path are those of the run that made it; bands: along a
    path or at a second list of k-points, if asked for.
    vacuum: potential in that of a slab, or None.  charges: electrons of the atoms, and projections: of the orbitals on
    them; None unless LORBIT asks for them, and on ranks of other k-groups than the first.
    dipole: moment by axis from 0, e Å, where a correction was asked for; charged: of a cell with a net charge.
    core_potentials_eV: electrostatic potential at each atom, (a,), of electrons, as in OUTCAR.
    ionic_history: of atoms that move, or None: what else is here then belongs to the last ionic step.
    electrons_converged: in that, whatever the atoms did; None where it is what `converged` says.
    """

    converged: bool
    interrupted: bool
    status: str
    symbols: tuple[str, ...]
    free_energy: float
    energy_zero: float
    energy_without_entropy: float
    absolute_energy: float
    components: Mapping[str, float]
    fermi_level: float
    gap: BandGap
    kpoint_kc: np.ndarray
    weight_k: np.ndarray
    eig_skn: np.ndarray
    occ_skn: np.ndarray
    forces_av: np.ndarray | None
    force_error: float | None
    stress_vv: np.ndarray | None
    pulay_pressure: float | None
    moment: float | None
    moment_a: np.ndarray | None
    steps: tuple[StepRecord, ...]
    warnings: tuple[str, ...]
    notes: tuple[str, ...]
    advice: tuple[str, ...]
    seconds: float
    threads: int
    fft: str
    trace: Mapping[str, Any]
    files: Mapping[str, Path]
    unwritten: tuple[str, ...] = ()
    folder: Path = Path()
    stamp: RunStamp | None = None
    vacuum: VacuumLevels | None = None
    dipole: Mapping[int, float] | None = None
    charged: ChargedCell | None = None
    core_potentials_eV: np.ndarray | None = None
    ground_state: "GroundState | None" = field(default=None, repr=False)
    fixed_density: bool = False
    bands: BandStructure | None = field(default=None, repr=False)
    charges: SphereCharges | None = None
    projections: ProjectionRecord | None = field(default=None, repr=False)
    ionic_history: IonicHistory | None = field(default=None, repr=False)
    electrons_converged: bool | None = None
    separate_levels: tuple[float, ...] = ()

    @property
    def reliable(self) -> bool:
        """Whether energies, forces and stress mean something: the electrons converged, in the last ionic step."""
        return self.converged if self.electrons_converged is None else self.electrons_converged

    @property
    def entropy_term(self) -> float:
        """-TS, eV."""
        return self.free_energy - self.energy_without_entropy

    @property
    def largest_force(self) -> float | None:
        """Largest norm of the forces on one atom, eV/Angstrom."""
        return None if self.forces_av is None else float(np.linalg.norm(self.forces_av, axis=1).max())

    @property
    def pressure(self) -> float | None:
        """Of the cell on what surrounds it, GPa."""
        return None if self.stress_vv is None else -float(np.trace(self.stress_vv)) / 3

    @property
    def applications(self) -> int:
        """Applications of the Hamiltonian to single orbitals."""
        return sum(step.applications for step in self.steps)

    def as_dict(self) -> dict[str, Any]:
        """Everything but the orbitals, ready for JSON; docs/guides/run.md lists the fields."""
        return {
            "format": JSON_FORMAT,
            "version": JSON_VERSION,
            "run": None if self.stamp is None else {"id": self.stamp.run, "save": self.stamp.save},
            "converged": self.converged,
            "interrupted": self.interrupted,
            "status": self.status,
            "symbols": list(self.symbols),
            "energies_eV": {
                "free": self.free_energy,
                "zero_smearing": self.energy_zero,
                "without_entropy": self.energy_without_entropy,
                "entropy_term": self.entropy_term,
                "absolute_free": self.absolute_energy,
                "components": dict(self.components),
            },
            "fermi_level_eV": self.fermi_level,
            "fermi_levels_of_spins_eV": list(self.separate_levels) or None,
            "gap_eV": asdict(self.gap) | {"direct": self.gap.is_direct, "kind": self.gap.kind},
            "vacuum": None if self.vacuum is None else _vacuum(self.vacuum, self.fermi_level),
            "dipole_eA": None if self.dipole is None else {str(axis + 1): p for axis, p in self.dipole.items()},
            "charged_cell": None if self.charged is None else _charged(self.charged),
            "core_potentials_eV": _listed(self.core_potentials_eV),
            "moment_muB": self.moment,
            "moment_per_atom_muB": _listed(self.moment_a),
            "spheres": _spheres(self.charges),
            "forces_eV_per_A": _listed(self.forces_av),
            "largest_force_eV_per_A": self.largest_force,
            "force_error_eV_per_A": self.force_error,
            "stress_GPa": _listed(self.stress_vv),
            "pressure_GPa": self.pressure,
            "pulay_pressure_GPa": self.pulay_pressure,
            "forces_reliable": self.reliable and self.forces_av is not None,
            "kpoints": {"reduced": _listed(self.kpoint_kc), "weights": _listed(self.weight_k)},
            "eigenvalues_eV": _listed(self.eig_skn),
            "occupations": _listed(self.occ_skn),
            "fixed_density": self.fixed_density,
            "bands": None if self.bands is None else self.bands.as_dict(),
            "motion": None if self.ionic_history is None else self.ionic_history.as_dict(),
            "steps": [asdict(step) for step in self.steps],
            "warnings": list(self.warnings),
            "notes": list(self.notes),
            "advice": list(self.advice),
            "seconds": self.seconds,
            "threads": self.threads,
            "fft": self.fft,
            "hamiltonian_applications": self.applications,
            "trace": dict(self.trace),
            "files": {name: str(path) for name, path in self.files.items()},
            "files_not_written": list(self.unwritten),
        }


def _ionic(number: int, step: IonicStep) -> dict[str, Any]:
    found = {
        "step": number, "free_energy_eV": step.free_energy, "converged": step.converged,
        "scf_steps": len(step.steps), "applications": sum(one.applications for one in step.steps),
        "largest_force_eV_per_A": None if step.forces_av is None else float(
            np.linalg.norm(step.forces_av, axis=1).max()
        ),
        "pressure_GPa": None if step.stress_vv is None else float(np.trace(step.stress_vv)) / 30,
        "volume_A3": abs(float(np.linalg.det(step.lattice_cv))), "seconds": step.seconds,
        "lattice_A": _listed(step.lattice_cv), "positions_scaled": _listed(step.scaled_ac),
        "forces_eV_per_A": _listed(step.forces_av), "moment_muB": step.moment,
    }  # fmt: skip
    if step.temperature is not None:
        found |= {"temperature_K": step.temperature, "kinetic_eV": step.kinetic, "conserved_eV": step.conserved}
    return found | ({"remarks": list(step.remarks)} if step.remarks else {})


def _vacuum(vacuum: VacuumLevels, fermi_level: float) -> dict[str, Any]:
    levels = [vacuum.below, vacuum.above]
    return {
        "axis": vacuum.axis + 1, "thickness_A": vacuum.thickness, "levels_eV": levels,
        "work_functions_eV": [level - fermi_level for level in levels],
    }  # fmt: skip


def _charged(cell: ChargedCell) -> dict[str, Any]:
    return {
        "charge_e": cell.charge, "madelung_constant": cell.madelung, "length_A": cell.length,
        "dielectric_constant": cell.epsilon, "background_eV": cell.background,
        "corrections_not_in_the_energies_eV": {
            "monopole": cell.monopole, "quadrupole": cell.quadrupole, "potential_alignment": cell.alignment,
        },
        "potential_shift_eV": cell.potential_shift,
    }  # fmt: skip


def _spheres(charges: SphereCharges | None) -> dict[str, Any] | None:
    if charges is None:
        return None
    return {
        "radius_A": _listed(charges.radius_a), "columns": list(L_COLUMNS),
        "electrons": _listed(charges.electrons_al), "moment_muB": _listed(charges.moment_al),
        "electrons_between": charges.between,
    }  # fmt: skip


def _listed(array: np.ndarray | None) -> list[Any] | None:
    return None if array is None else np.asarray(array).tolist()


# -- what to try next --------------------------------------------------------------------------------------------------


LAST_CHANGES, ROUNDING = 5, 1e-9
"""Steps of which none changed the free energy by more, eV: there is nothing left to converge."""

def advice(steps: tuple[StepRecord, ...], tags: Mapping[str, Any], warnings: tuple[str, ...] = ()) -> tuple[str, ...]:
    """What to change in INCAR when self-consistency was not reached, most promising first.

    steps: all steps; tags: the tags in force; warnings: of the occupations.
    """
    ideas = ["first of all more bands: see the warning"] if any("NBANDS" in text for text in warnings) else []
    limit = max(2 * int(tags["NELM"]), 60)
    if _falls(steps):
        ideas.append(f"it was still getting better: set ISTART = 1 to go on from eigenwerk.h5, and NELM = {limit}")
        return tuple(ideas)
    small = max((abs(step.change) for step in steps[-LAST_CHANGES:]), default=inf)
    if small <= ROUNDING:
        ideas.append(
            f"nothing is left to converge: each of the last {LAST_CHANGES} steps changed the free energy by at most "
            f"{small:.0e} eV, which is rounding. Set EDIFF = 1E-8 (it was {float(tags['EDIFF']):g})"
        )
        return tuple(ideas)
    if int(tags["ISMEAR"]) in CORRECTED:
        ideas.append(
            f"tetrahedra without Blöchl's correction, which jumps where tetrahedra are large: ISMEAR = "
            f"{int(tags['ISMEAR']) + 1}, or a denser mesh in KPOINTS"
        )
    amix = float(tags.get("AMIX", 0.4))
    ideas.append(f"smaller steps of the density: AMIX = {_half(amix, 0.1):g} (it was {amix:g})")
    if int(tags["ISPIN"]) == 2:
        magnetic = float(tags.get("AMIX_MAG", 1.6))
        ideas.append(
            f"smaller steps of the magnetisation: AMIX_MAG = {_half(magnetic, 0.2):g} (it was {magnetic:g}), and "
            "MAGMOM nearer to the moments expected"
        )
    if float(tags["SIGMA"]) < 0.1 and int(tags["ISMEAR"]) >= -1:
        ideas.append(f"in a metal, a wider smearing: ISMEAR = 1 with SIGMA = 0.2 (SIGMA was {float(tags['SIGMA']):g})")
    ideas.append("in a long cell or slab, a larger BMIX = 2 against charge that sloshes")
    return tuple(ideas)


def _falls(steps: tuple[StepRecord, ...], window: int = 6) -> bool:
    """Whether the density residual of the last steps is well below that of those before."""
    residuals = [step.density_residual for step in steps if step.density_residual is not None]
    if len(residuals) < window:
        return True
    half = window // 2
    best = min(residuals[-half:])
    # a cycle falls again and again, and never lower
    return best < 0.7 * min(residuals[-window:-half]) and best == min(residuals)


def _half(value: float, least: float) -> float:
    return max(round(value / 2, 3), min(least, value))
